/**
 * The values that the records of a collection have at one metadata key, by slot, for groups and counts. A value is a
 * string, a number, true, false or null. Each element of an array is a value, so a record may have several. Objects,
 * and arrays in arrays, are not values.
 */
import { mapKey } from '../../shared/hashing/mapKey.js';
import { NumberTable } from '../../shared/hashing/numberTable.js';
import { TextTable } from '../../shared/hashing/textTable.js';
import type { Json, Scalar } from '../../shared/model/filter.js';
import { BitSet } from '../kernel/bitSet.js';
import { PagedInts } from '../kernel/pagedInts.js';
import { PagedList } from '../kernel/pagedList.js';
import { partition } from '../kernel/partition.js';
import type { SlotSet } from '../kernel/slotSet.js';
import { isAbridged, longTerm } from './terms.js';
import { ValueLists } from './valueLists.js';

/** Entry of a slot without a value. */
const NONE = -1;
/** Entry of a slot with several values: this number minus the number of their list. */
const SEVERAL = -2;

export const isScalar = (value: Json): value is Scalar => typeof value !== 'object' || value === null;

/** Strings of one kind: the values themselves, or the terms of long strings. */
class Strings {
  /** Range of ordinals of the strings that were collected in order; `end` is exclusive. */
  first = 0;
  end = 0;
  /** Ordinals of all other strings. */
  readonly others = new TextTable();
}

/** The values that records have at a path, and the records that match an optional filter, both at one moment. */
export interface PathValues {
  readonly values: SlotValues;
  readonly matching: SlotSet | undefined;
}

/**
 * The values of one request. They take 4 bytes a slot, and 8 more per value of a slot with several. A number takes some
 * 30 bytes, a string 10 besides itself.
 */
export class SlotValues {
  /** Slots that have a value. */
  readonly slots = BitSet.ofSize(1);
  /** Ordinal of each slot's value, or the place of several. */
  #ordinals = new Int32Array(0);
  readonly #several = new ValueLists();
  /** Slot that values are being added to, and the number of its turn, from 1. */
  #slotInHand = NONE;
  #turn = 0;
  /** Per ordinal: `#turn` when it was added to a slot with several values. */
  readonly #addedAt = new PagedInts();
  #count = 0;
  readonly #numbers = new NumberTable();
  /** Count of numbers that were added before all other values. Their ordinals are those in the table. */
  #leading = 0;
  /** Place in the number table → ordinal, for numbers that are not leading. */
  readonly #ordinalByPlace = new PagedInts();
  /** Ordinal → place in the number table plus 1, for numbers that are not leading; 0 for other values. */
  readonly #placeByOrdinal = new PagedInts();
  readonly #strings = new Strings();
  readonly #longStrings = new Strings();
  readonly #ordinalOfConstant = new Map<boolean | null, number>();
  readonly #long = BitSet.ofSize(1);
  /** Values other than numbers, by ordinal. A long string is replaced by its term. */
  readonly #others = new PagedList<string | boolean | null>();

  /** Number of distinct values. Each has an ordinal below it. */
  get count(): number {
    return this.#count;
  }

  /** Returns the ordinal of a value. A new value gets the next one. */
  ordinalOf(value: Scalar): number {
    if (typeof value === 'number') return this.#ordinalOfNumber(value);
    if (typeof value !== 'string') return this.#ordinalOfConstant.get(value) ?? this.#addConstant(value);
    return isAbridged(value)
      ? this.#ordinalOfString(this.#longStrings, longTerm(value))
      : this.#ordinalOfString(this.#strings, value);
  }

  /**
   * Adds a string and returns its ordinal. The caller adds the strings of the path in ascending order, before any other
   * string.
   */
  addString(value: string): number {
    return this.#addNext(this.#strings, value);
  }

  /** Adds the term of a long string, with the conditions of `addString`. */
  addLongString(term: string): number {
    return this.#addNext(this.#longStrings, term);
  }

  /**
   * Adds a value to a slot. A repeated value has no effect while no other slot got one; the caller must not repeat it
   * later.
   */
  add(slot: number, ordinal: number): void {
    if (slot >= this.#ordinals.length) this.#grow(slot);
    if (slot !== this.#slotInHand) {
      this.#slotInHand = slot;
      this.#turn += 1;
    }
    const entry = this.#ordinals[slot]!;
    if (entry === ordinal) return;
    if (entry === NONE) {
      this.slots.add(slot);
      this.#ordinals[slot] = ordinal;
    } else if (entry >= 0) {
      const list = this.#several.newList();
      this.#ordinals[slot] = SEVERAL - list;
      this.#addTo(list, entry);
      this.#addTo(list, ordinal);
    } else if (this.#addedAt.get(ordinal) !== this.#turn) this.#addTo(SEVERAL - entry, ordinal);
  }

  clear(slot: number): void {
    if (!this.slots.delete(slot)) return;
    this.#ordinals[slot] = NONE;
    this.#slotInHand = NONE;
  }

  /** Returns how many values the slot has: up to some ten thousand. */
  countAt(slot: number): number {
    const entry = slot < this.#ordinals.length ? this.#ordinals[slot]! : NONE;
    return entry <= SEVERAL ? this.#several.lengthOf(SEVERAL - entry) : entry >= 0 ? 1 : 0;
  }

  /** Calls `visit` with the ordinal of each value of the slot. */
  forEach(slot: number, visit: (ordinal: number) => void): void {
    const entry = slot < this.#ordinals.length ? this.#ordinals[slot]! : NONE;
    if (entry >= 0) visit(entry);
    else if (entry <= SEVERAL) this.#several.forEach(SEVERAL - entry, visit);
  }

  /** Returns the ordinals of a slot's values. */
  ordinalsAt(slot: number): Uint32Array {
    const ordinals = new Uint32Array(this.countAt(slot));
    let count = 0;
    this.forEach(slot, (ordinal) => {
      ordinals[count++] = ordinal;
    });
    return ordinals;
  }

  /** Returns the value; undefined for a long string, of which only the beginning is known. */
  value(ordinal: number): Scalar | undefined {
    return this.#long.has(ordinal) ? undefined : this.#known(ordinal);
  }

  /** Returns the value; for a long string its term. */
  termOf(ordinal: number): Scalar {
    return this.#known(ordinal);
  }

  /** Whether `value` is the long string with this ordinal. */
  isLong(ordinal: number, value: Json): value is string {
    return isAbridged(value) && longTerm(value) === this.#known(ordinal);
  }

  /**
   * Orders values: null, false, true, numbers, strings by UTF-16 code units. Strings of more than 128 characters are
   * ordered by their first 32, and then in some fixed order.
   */
  isBefore(one: number, other: number): boolean {
    const { first, end } = this.#strings;
    if (one >= first && one < end && other >= first && other < end) return one < other;
    const [a, b] = [this.#known(one), this.#known(other)];
    const [rankA, rankB] = [rankOf(a), rankOf(b)];
    if (rankA !== rankB) return rankA < rankB;
    return a === b ? one < other : a! < b!;
  }

  #known(ordinal: number): Scalar {
    if (ordinal < this.#leading) return this.#numbers.numberAt(ordinal);
    const place = this.#placeByOrdinal.get(ordinal);
    return place > 0 ? this.#numbers.numberAt(place - 1) : this.#others.get(ordinal)!;
  }

  #ordinalOfNumber(value: number): number {
    const { size } = this.#numbers;
    const place = this.#numbers.add(value);
    if (place < this.#leading) return place;
    if (place < size) return this.#ordinalByPlace.get(place);
    if (place === this.#count) this.#leading += 1;
    else {
      this.#ordinalByPlace.set(place, this.#count);
      this.#placeByOrdinal.set(this.#count, place + 1);
    }
    return this.#count++;
  }

  #ordinalOfString(strings: Strings, text: string): number {
    const { first, end, others } = strings;
    const at = first + partition(end - first, (i) => (this.#others.get(first + i) as string) < text);
    if (at < end && this.#others.get(at) === text) return at;
    const ordinal = others.add(mapKey(text), this.#count);
    return ordinal === this.#count ? this.#addOther(text, strings) : ordinal;
  }

  #addNext(strings: Strings, text: string): number {
    if (strings.end === 0) strings.first = this.#count;
    strings.end = this.#count + 1;
    return this.#addOther(text, strings);
  }

  #addConstant(value: boolean | null): number {
    this.#ordinalOfConstant.set(value, this.#count);
    return this.#addOther(value);
  }

  #addOther(value: string | boolean | null, strings?: Strings): number {
    if (strings === this.#longStrings) this.#long.add(this.#count);
    this.#others.set(this.#count, value);
    return this.#count++;
  }

  #addTo(list: number, ordinal: number): void {
    this.#several.add(list, ordinal);
    this.#addedAt.set(ordinal, this.#turn);
  }

  #grow(slot: number): void {
    const grown = new Int32Array(Math.max(slot + 1, 1_024, Math.ceil(this.#ordinals.length * 1.5))).fill(NONE);
    grown.set(this.#ordinals);
    this.#ordinals = grown;
  }
}

function rankOf(value: Scalar): number {
  if (value === null) return 0;
  if (typeof value === 'boolean') return value ? 2 : 1;
  return typeof value === 'number' ? 3 : 4;
}
