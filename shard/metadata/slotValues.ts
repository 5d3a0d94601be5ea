/**
 * The values that the records of a collection have at one metadata key, by slot: what groups and counts of values are made
 * from. A value is a string, a number, true, false or null; of an array each element is one, and a record may so have
 * several. Objects, and arrays in arrays, are none.
 */
import type { Json, Scalar } from '../../shared/model/filter.js';
import { BitSet } from '../kernel/bitSet.js';
import { isAbridged, termOf } from './terms.js';

/** Stand in for an ordinal. */
const NONE = -1;
const SEVERAL = -2;

export const isScalar = (value: Json): value is Scalar => typeof value !== 'object' || value === null;

/** 4 bytes a slot, and some 100 bytes a value. It is one request's own. */
export class SlotValues {
  /** The slots that have a value. */
  readonly slots = BitSet.ofSize(1);
  /** By slot: the ordinal of its value. */
  #ordinals = new Int32Array(0);
  readonly #several = new Map<number, Set<number>>();
  readonly #ofValue = new Map<Scalar, number>();
  /** Long strings, by the text that stands for them. */
  readonly #ofLong = new Map<string, number>();
  /** By ordinal. For a long string the text that stands for it. */
  readonly #values: Scalar[] = [];

  /** The number of different values. Each has an ordinal below it. */
  get count(): number {
    return this.#values.length;
  }

  /** The ordinal of a value. */
  ordinalOf(value: Scalar): number {
    return isAbridged(value) ? this.ordinalOfLong(termOf(value)) : this.#given(this.#ofValue, value);
  }

  /** The same for the text that stands for a long string. */
  ordinalOfLong(term: string): number {
    return this.#given(this.#ofLong, term);
  }

  /** May be repeated. */
  add(slot: number, ordinal: number): void {
    if (slot >= this.#ordinals.length) this.#grow(slot);
    const held = this.#ordinals[slot]!;
    if (held === ordinal) return;
    this.slots.add(slot);
    if (held === NONE) this.#ordinals[slot] = ordinal;
    else if (held === SEVERAL) this.#several.get(slot)!.add(ordinal);
    else {
      this.#ordinals[slot] = SEVERAL;
      this.#several.set(slot, new Set([held, ordinal]));
    }
  }

  clear(slot: number): void {
    if (!this.slots.delete(slot)) return;
    this.#ordinals[slot] = NONE;
    this.#several.delete(slot);
  }

  /** Calls `visit` with the ordinal of each value of the slot. */
  forEach(slot: number, visit: (ordinal: number) => void): void {
    const held = slot < this.#ordinals.length ? this.#ordinals[slot]! : NONE;
    if (held >= 0) visit(held);
    else if (held === SEVERAL) for (const ordinal of this.#several.get(slot)!) visit(ordinal);
  }

  /** The value; undefined for a long string, of which only the beginning is known. */
  value(ordinal: number): Scalar | undefined {
    const value = this.#values[ordinal]!;
    return this.#ofValue.get(value) === ordinal ? value : undefined;
  }

  /** Whether `value` is the long string with this ordinal. */
  isLong(ordinal: number, value: Json): value is string {
    return isAbridged(value) && termOf(value) === this.#values[ordinal];
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

  #given<Key extends Scalar>(ordinals: Map<Key, number>, key: Key): number {
    let ordinal = ordinals.get(key);
    if (ordinal === undefined) {
      ordinal = this.#values.length;
      ordinals.set(key, ordinal);
      this.#values.push(key);
    }
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
