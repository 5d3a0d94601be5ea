/**
 * The numbers at one path, by slot: a column that is scanned from end to end, 1.1 ms for a million slots however many
 * match. A slot that lies beyond the column, or has several numbers (an array), is held beside it; so is every slot of
 * a path that few records have.
 */
import type { Order } from '../../shared/filter.js';
import { nextAbove, nextBelow } from './nextDouble.js';
import { setBit, WORD_SLOTS, type Words } from './slotBits.js';

/** What has no number in the column; no comparison is true of it. */
const NONE = Number.NaN;
/** The column is made, or made longer, where there is a number for so many slots; and where there are not just a few. */
const SPARSE = 16;
const BESIDE_MIN = 64;
/** Room for slots to come. */
const AHEAD = 1.2;
/** Up to so many numbers are looked for one after another. */
const SCANS_MAX = 2;
/** Of the sieve that numbers are first passed through. */
const SIEVE_BITS = 16;
/** Of a number beside the column. */
const ENTRY_BYTES = 56;

/** Both ends included. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

export function intervalOf(order: Order, value: number): Interval {
  switch (order) {
    case 'gt':
      return { low: nextAbove(value), high: Infinity };
    case 'gte':
      return { low: value, high: Infinity };
    case 'lt':
      return { low: -Infinity, high: nextBelow(value) };
    case 'lte':
      return { low: -Infinity, high: value };
  }
}

export class NumberColumn {
  #column = new Float64Array(0);
  /** Numbers in the column. */
  #count = 0;
  readonly #beside = new Map<number, number>();
  /** Slots with more than one number, the same one maybe twice; none of these is in the column. */
  readonly #several = new Map<number, number[]>();
  #severalCount = 0;

  get bytes(): number {
    const besideBytes = ENTRY_BYTES * (this.#beside.size + 2 * this.#several.size);
    return this.#column.byteLength + besideBytes + 10 * this.#severalCount;
  }

  /** `slots`: those of the collection lie below it. 0 and −0 are one number. */
  add(number: number, slot: number, slots: number): void {
    const value = number + 0;
    const several = this.#several.get(slot);
    if (several !== undefined) {
      several.push(value);
      this.#severalCount += 1;
      return;
    }
    const held = this.#single(slot);
    if (held === undefined) this.#addSingle(value, slot, slots);
    else if (held !== value) {
      this.remove(slot);
      this.#several.set(slot, [held, value]);
      this.#severalCount += 2;
    }
  }

  /** All numbers of the slot. */
  remove(slot: number): void {
    this.#severalCount -= this.#several.get(slot)?.length ?? 0;
    if (this.#several.delete(slot) || this.#beside.delete(slot)) return;
    if (slot >= this.#column.length || Number.isNaN(this.#column[slot])) return;
    this.#column[slot] = NONE;
    this.#count -= 1;
  }

  /** Adds the slots that have a number within to `words`. */
  within({ low, high }: Interval, words: Words): void {
    scan(this.#column, low, high, words);
    for (const [slot, value] of this.#beside) if (value >= low && value <= high) setBit(words, slot);
    for (const [slot, values] of this.#several)
      for (const value of values) if (value >= low && value <= high) setBit(words, slot);
  }

  /** Adds the slots that have one of the numbers to `words`. */
  among(values: ReadonlySet<number>, words: Words): void {
    if (values.size <= SCANS_MAX) for (const value of values) scan(this.#column, value, value, words);
    else scanAmong(this.#column, values, words);
    for (const [slot, value] of this.#beside) if (values.has(value)) setBit(words, slot);
    for (const [slot, several] of this.#several)
      for (const value of several) if (values.has(value)) setBit(words, slot);
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

/** Without a branch on what it finds, which would cost three times as much where half of the rows match. */
function scan(column: Float64Array, low: number, high: number, words: Words): void {
  const end = Math.min(words.length, column.length >>> 5);
  for (let w = 0; w < end; w++) {
    const first = w << 5;
    let bits = 0;
    for (let at = first + 28; at >= first; at -= 4)
      bits =
        (bits << 4) |
        isWithin(column[at]!, low, high) |
        (isWithin(column[at + 1]!, low, high) << 1) |
        (isWithin(column[at + 2]!, low, high) << 2) |
        (isWithin(column[at + 3]!, low, high) << 3);
    words[w]! |= bits;
  }
}

/** `values`: fewer than 65,536. A look into the set costs ten times what the sieve does, which says what to compare with. */
function scanAmong(column: Float64Array, values: ReadonlySet<number>, words: Words): void {
  const sought = Float64Array.from(values, (value) => value + 0);
  const soughtHalves = new Uint32Array(sought.buffer);
  /** By place: 1 + the index of one that is sought there; 0: none is. */
  const sieve = new Uint16Array(1 << SIEVE_BITS);
  for (let i = 0; i < sought.length; i++) sieve[mixed(soughtHalves, i)] = i + 1;
  const halves = new Uint32Array(column.buffer);
  const end = Math.min(words.length * WORD_SLOTS, column.length);
  for (let slot = 0; slot < end; slot++) {
    const after = sieve[mixed(halves, slot)]!;
    if (after > 0 && (sought[after - 1] === column[slot] || values.has(column[slot]!))) setBit(words, slot);
  }
}

/** The place of double `index`, of which these are the halves. */
const mixed = (halves: Uint32Array, index: number): number =>
  Math.imul(halves[2 * index]! ^ Math.imul(halves[2 * index + 1]!, 0x85ebca6b), 0x9e3779b1) >>> (32 - SIEVE_BITS);

const isWithin = (value: number, low: number, high: number): number => Number(value >= low) & Number(value <= high);
