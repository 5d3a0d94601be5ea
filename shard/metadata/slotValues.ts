/**
 * The values that the records of a collection have at one metadata key, by slot: what groups and counts of values are made
 * from. A value is a string, a number, true, false or null; of an array each element is one, and a record may so have
 * several. Objects, and arrays in arrays, are none.
 */
import { mapKey } from '../../shared/hashing/mapKey.js';
import { NumberTable } from '../../shared/hashing/numberTable.js';
import { TextTable } from '../../shared/hashing/textTable.js';
import type { Json, Scalar } from '../../shared/model/filter.js';
import { BitSet } from '../kernel/bitSet.js';
import { isAbridged, longTerm } from './terms.js';

/** The entry of a slot without a value. */
const NONE = -1;
/** The entry of a slot with several values is this number minus the index of their set. */
const SEVERAL = -2;

export const isScalar = (value: Json): value is Scalar => typeof value !== 'object' || value === null;

/** 4 bytes a slot, and some 100 bytes a value. It is one request's own. */
export class SlotValues {
  /** The slots that have a value. */
  readonly slots = BitSet.ofSize(1);
  /** The ordinal of each slot's value, or the place of several. */
  #ordinals = new Int32Array(0);
  readonly #several: Set<number>[] = [];
  readonly #ofNumber = new NumberTable();
  /** The ordinal among all values of each number of the table. */
  readonly #ofNumbers: number[] = [];
  readonly #ofText = new TextTable();
  readonly #ofWord = new Map<boolean | null, number>();
  /** Long strings, by their terms. */
  readonly #ofLong = new TextTable();
  readonly #long = BitSet.ofSize(1);
  /** The values by ordinal; in the place of a long string its term. */
  readonly #values: Scalar[] = [];

  /** The number of different values. Each has an ordinal below it. */
  get count(): number {
    return this.#values.length;
  }

  /** The ordinal of a value. */
  ordinalOf(value: Scalar): number {
    if (typeof value === 'number') return this.#ofNumbers[this.#ofNumber.add(value)] ?? this.#addNumber(value);
    if (typeof value !== 'string') return this.#ofWord.get(value) ?? this.#addWord(value);
    if (isAbridged(value)) return this.ordinalOfLong(longTerm(value));
    return this.#addOnce(this.#ofText.add(mapKey(value), this.count), value);
  }

  /** The ordinal of the long string with this term. */
  ordinalOfLong(term: string): number {
    const ordinal = this.#ofLong.add(mapKey(term), this.count);
    this.#long.add(ordinal);
    return this.#addOnce(ordinal, term);
  }

  /** May be repeated. */
  add(slot: number, ordinal: number): void {
    if (slot >= this.#ordinals.length) this.#grow(slot);
    const held = this.#ordinals[slot]!;
    if (held === ordinal) return;
    this.slots.add(slot);
    if (held === NONE) this.#ordinals[slot] = ordinal;
    else if (held <= SEVERAL) this.#several[SEVERAL - held]!.add(ordinal);
    else {
      this.#ordinals[slot] = SEVERAL - this.#several.length;
      this.#several.push(new Set([held, ordinal]));
    }
  }

  clear(slot: number): void {
    if (!this.slots.delete(slot)) return;
    const held = this.#ordinals[slot]!;
    if (held <= SEVERAL) this.#several[SEVERAL - held]!.clear();
    this.#ordinals[slot] = NONE;
  }

  /** How many values the slot has: up to some ten thousand. */
  countAt(slot: number): number {
    const held = slot < this.#ordinals.length ? this.#ordinals[slot]! : NONE;
    return held <= SEVERAL ? this.#several[SEVERAL - held]!.size : held >= 0 ? 1 : 0;
  }

  /** Calls `visit` with the ordinal of each value of the slot. */
  forEach(slot: number, visit: (ordinal: number) => void): void {
    const held = slot < this.#ordinals.length ? this.#ordinals[slot]! : NONE;
    if (held >= 0) visit(held);
    else if (held <= SEVERAL) for (const ordinal of this.#several[SEVERAL - held]!) visit(ordinal);
  }

  /** The value; undefined for a long string, of which only the beginning is known. */
  value(ordinal: number): Scalar | undefined {
    return this.#long.has(ordinal) ? undefined : this.#values[ordinal]!;
  }

  /** Whether `value` is the long string with this ordinal. */
  isLong(ordinal: number, value: Json): value is string {
    return isAbridged(value) && longTerm(value) === this.#values[ordinal];
  }

  /**
   * Orders values: null, false, true, numbers, strings by UTF-16 code units; strings of more than 128 characters by their
   * first 32, and then in some fixed order.
   */
  isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#values[one]!, this.#values[other]!];
    const [rankA, rankB] = [rankOf(a), rankOf(b)];
    if (rankA !== rankB) return rankA < rankB;
    return a === b ? one < other : a! < b!;
  }

  #addNumber(value: number): number {
    this.#ofNumbers.push(this.count);
    return this.#addOnce(this.count, value + 0);
  }

  #addWord(value: boolean | null): number {
    this.#ofWord.set(value, this.count);
    return this.#addOnce(this.count, value);
  }

  /** Keeps the value of an ordinal that is new. */
  #addOnce(ordinal: number, value: Scalar): number {
    if (ordinal === this.count) this.#values.push(value);
    return ordinal;
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
