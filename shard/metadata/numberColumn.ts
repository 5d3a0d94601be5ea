/**
 * The numbers at one path, by slot: a column that is scanned from end to end, 1.1 ms for a million slots. Three kinds
 * of numbers are stored beside it: those of slots beyond it, of slots with several numbers, and of paths that few
 * records have.
 */
import type { NumberTable } from '../../shared/hashing/numberTable.js';
import type { Order } from '../../shared/model/filter.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import type { BitSet } from '../kernel/bitSet.js';
import { type Effort, WORK } from './effort.js';
import type { SlotValues } from './slotValues.js';

/** Entry for no number. No comparison is true of it. */
const NONE = Number.NaN;
/** The column is made, or extended, when one in this many slots has a number, and at least the minimum have one. */
const SPARSE = 16;
const BESIDE_MIN = 64;
/** Factor of room for later slots. */
const AHEAD = 1.2;
const WORD_SLOTS = 32;
/** Limit of numbers that are searched one after another. */
const SCANS_MAX = 2;
/** log2 of the places of the sieve that filters numbers first. */
const SIEVE_BITS = 16;
/** Words of 32 slots that are scanned between two looks at the effort. */
const WORDS_PER_LOOK = 8_192;
/** Slots that are filtered by a sieve between two looks at the effort. */
const SIEVED_PER_LOOK = 131_072;
/** Numbers beside the column that are read between two looks at the effort. */
const NUMBERS_PER_LOOK = 4_096;
/** Estimated heap bytes of a number beside the column. */
const ENTRY_BYTES = 56;

/** Numbers to find. */
interface Wanted {
  has(value: number): boolean;
}

/** An interval that includes both ends. */
class Interval implements Wanted {
  constructor(
    readonly low: number,
    readonly high: number,
  ) {}

  has(value: number): boolean {
    return value >= this.low && value <= this.high;
  }
}

export function intervalOf(order: Order, value: number): Interval {
  switch (order) {
    case 'gt':
      return new Interval(nextAbove(value), Infinity);
    case 'gte':
      return new Interval(value, Infinity);
    case 'lt':
      return new Interval(-Infinity, nextBelow(value));
    case 'lte':
      return new Interval(-Infinity, value);
  }
}

const bits = new BigInt64Array(1);
const double = new Float64Array(bits.buffer);

/**
 * Returns the least double above `value`, so that `>` becomes `>=`; NaN above infinity. Neighbours differ by 1 as
 * integers (IEEE 754).
 */
function nextAbove(value: number): number {
  if (value === Infinity) return Number.NaN;
  if (value === 0) return Number.MIN_VALUE;
  double[0] = value;
  bits[0]! += value > 0 ? 1n : -1n;
  return double[0];
}

const nextBelow = (value: number): number => -nextAbove(-value);

export class NumberColumn {
  #column = new Float64Array(0);
  /** How many numbers are in the column. */
  #count = 0;
  readonly #beside = new Map<number, number>();
  /** Numbers of slots with more than one, perhaps with duplicates. These slots are not in the column. */
  readonly #several = new Map<number, number[]>();
  #severalCount = 0;

  get bytes(): number {
    const besideBytes = ENTRY_BYTES * (this.#beside.size + 2 * this.#several.size);
    return this.#column.byteLength + besideBytes + 10 * this.#severalCount;
  }

  /** Adds a number. `slots`: an upper bound of the slots of the collection. 0 and −0 are one number. */
  add(number: number, slot: number, slots: number): void {
    const value = number + 0;
    const several = this.#several.get(slot);
    if (several !== undefined) {
      several.push(value);
      this.#severalCount += 1;
      return;
    }
    const single = this.#single(slot);
    if (single === undefined) this.#addSingle(value, slot, slots);
    else if (single !== value) {
      this.remove(slot);
      this.#several.set(slot, [single, value]);
      this.#severalCount += 2;
    }
  }

  /** Removes all numbers of the slot. */
  remove(slot: number): void {
    this.#severalCount -= this.#several.get(slot)?.length ?? 0;
    if (this.#several.delete(slot) || this.#beside.delete(slot)) return;
    if (slot >= this.#column.length || Number.isNaN(this.#column[slot])) return;
    this.#column[slot] = NONE;
    this.#count -= 1;
  }

  /**
   * Adds to `slots` the slots that have a number in the interval. The result is complete for slots that are not written
   * between two steps. Numbers beside the column may move into it, but not back, so all methods read them first.
   */
  *within(interval: Interval, slots: BitSet, effort: Effort): Steps<void> {
    yield* this.#elsewhere(interval, slots, effort);
    yield* this.#scanned(interval.low, interval.high, slots, effort);
  }

  /** Adds to `slots` the slots that have one of the numbers, with the guarantees of `within`. */
  *among(values: NumberTable, slots: BitSet, effort: Effort): Steps<void> {
    yield* this.#elsewhere(values, slots, effort);
    if (values.size <= SCANS_MAX) for (const value of values.numbers) yield* this.#scanned(value, value, slots, effort);
    else yield* this.#sieved(new Sieve(values), slots, effort);
  }

  /** Collects values, with the guarantees of `PathIndex.collect`. */
  *collect(into: SlotValues, effort: Effort): Steps<void> {
    for (const [slot, value] of this.#beside) {
      into.add(slot, into.ordinalOf(value));
      effort.spend(WORK.collected);
      if (effort.endsStep()) yield;
    }
    for (const [slot, several] of this.#several) {
      for (const value of several) into.add(slot, into.ordinalOf(value));
      effort.spend(several.length * WORK.collected);
      if (effort.endsStep()) yield;
    }
    for (let slot = 0; slot < this.#column.length; ) {
      const end = Math.min(slot + NUMBERS_PER_LOOK, this.#column.length);
      let count = 0;
      for (; slot < end; slot++) {
        const value = this.#column[slot]!;
        if (Number.isNaN(value)) continue;
        into.add(slot, into.ordinalOf(value));
        count += 1;
      }
      effort.spend(count * WORK.collected + NUMBERS_PER_LOOK);
      if (effort.endsStep()) yield;
    }
  }

  /** Adds the slots with a wanted number beside the column. */
  *#elsewhere(wanted: Wanted, slots: BitSet, effort: Effort): Steps<void> {
    const singles = this.#beside.entries();
    while (addSome(singles, wanted, slots, effort)) if (effort.endsStep()) yield;
    for (const [slot, several] of this.#several) {
      for (const value of several) if (wanted.has(value)) slots.add(slot);
      effort.spend((several.length + 1) * WORK.beside);
      if (effort.endsStep()) yield;
    }
  }

  *#scanned(low: number, high: number, slots: BitSet, effort: Effort): Steps<void> {
    const end = (): number => Math.min(slots.words.length, this.#column.length >>> 5);
    for (let from = 0; from < end(); from += WORDS_PER_LOOK) {
      const to = Math.min(from + WORDS_PER_LOOK, end());
      scan(this.#column, { low, high }, slots, { from, to });
      effort.spend((to - from) * WORK.scannedWord);
      if (effort.endsStep()) yield;
    }
  }

  *#sieved(sieve: Sieve, slots: BitSet, effort: Effort): Steps<void> {
    const end = (): number => Math.min(slots.words.length * WORD_SLOTS, this.#column.length);
    for (let from = 0; from < end(); from += SIEVED_PER_LOOK) {
      const to = Math.min(from + SIEVED_PER_LOOK, end());
      sieve.pass(this.#column, slots, from, to);
      effort.spend((to - from) * WORK.sieved);
      if (effort.endsStep()) yield;
    }
  }

  #single(slot: number): number | undefined {
    const value = slot < this.#column.length ? this.#column[slot]! : NONE;
    return Number.isNaN(value) ? this.#beside.get(slot) : value;
  }

  #addSingle(value: number, slot: number, slots: number): void {
    if (slot < this.#column.length) {
      this.#column[slot] = value;
      this.#count += 1;
      return;
    }
    this.#beside.set(slot, value);
    if (this.#count + this.#beside.size >= Math.max(BESIDE_MIN, slots / SPARSE))
      this.#extend(Math.ceil((slots * AHEAD) / WORD_SLOTS) * WORD_SLOTS);
  }

  #extend(length: number): void {
    const column = new Float64Array(length).fill(NONE, this.#column.length);
    column.set(this.#column);
    for (const [slot, value] of this.#beside) column[slot] = value;
    this.#count += this.#beside.size;
    this.#beside.clear();
    this.#column = column;
  }
}

/** Adds the slots of wanted numbers among the next entries. Returns false if no entry is left. */
function addSome(
  entries: IterableIterator<[slot: number, value: number]>,
  wanted: Wanted,
  slots: BitSet,
  effort: Effort,
): boolean {
  let seen = 0;
  // The iterator of a map continues where a loop left it.
  for (const [slot, value] of entries) {
    if (wanted.has(value)) slots.add(slot);
    if (++seen === NUMBERS_PER_LOOK) break;
  }
  effort.spend(seen * WORK.beside);
  return seen === NUMBERS_PER_LOOK;
}

interface Bounds {
  readonly low: number;
  readonly high: number;
}

interface WordRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Scans the column's words `from` to `to`, of 32 slots each. It does not branch on the values, which would cost three
 * times as much if half of the rows match.
 */
function scan(column: Float64Array, { low, high }: Bounds, slots: BitSet, { from, to }: WordRange): void {
  for (let w = from >>> 0; w < to; w++) {
    const first = w << 5;
    let bits = 0;
    for (let at = first + 28; at >= first; at -= 4)
      bits =
        (bits << 4) |
        isWithin(column[at]!, low, high) |
        (isWithin(column[at + 1]!, low, high) << 1) |
        (isWithin(column[at + 2]!, low, high) << 2) |
        (isWithin(column[at + 3]!, low, high) << 3);
    slots.addWord(w, bits);
  }
}

/** Finds fewer than 65,536 numbers in a column, at a tenth of the cost of a table look-up per slot. */
class Sieve {
  readonly #sought: Float64Array;
  /** Per place of the sieve: 1 + the index of a sought number, or 0. */
  readonly #places = new Uint16Array(1 << SIEVE_BITS);

  constructor(private readonly values: NumberTable) {
    this.#sought = values.numbers.slice();
    const halves = new Uint32Array(this.#sought.buffer);
    for (let i = 0; i < this.#sought.length; i++) this.#places[mixed(halves, i)] = i + 1;
  }

  /** Adds the slots `from` to `to` that have one of the numbers. */
  pass(column: Float64Array, slots: BitSet, from: number, to: number): void {
    const { values } = this;
    const [sought, places] = [this.#sought, this.#places];
    const halves = new Uint32Array(column.buffer);
    for (let slot = from >>> 0; slot < to; slot++) {
      const after = places[mixed(halves, slot)]!;
      if (after > 0 && (sought[after - 1] === column[slot] || values.has(column[slot]!))) slots.add(slot);
    }
  }
}

/** Returns the place in the sieve of double `index`, given the halves of all doubles. */
const mixed = (halves: Uint32Array, index: number): number =>
  Math.imul(halves[2 * index]! ^ Math.imul(halves[2 * index + 1]!, 0x85ebca6b), 0x9e3779b1) >>> (32 - SIEVE_BITS);

const isWithin = (value: number, low: number, high: number): number => Number(value >= low) & Number(value <= high);
