/**
 * The slots that have one value: a single slot as a number, a few as an ascending list, many as bits. So a value of one
 * record takes no extra object, and a value of half of the records takes a bit per slot.
 */
import { BitSet } from '../kernel/bitSet.js';
import { partition } from '../kernel/partition.js';
import { WORK } from './effort.js';

export type Posting = number | number[] | BitSet;

const LISTED_MIN = 32;
/** Bits that a listed slot costs: it takes 8 bytes. */
const SLOTS_PER_LISTED = 64;

/** Adds `slot` to `posting`, which it may change. `slots`: an upper bound of the slots of the collection. */
export function withSlot(posting: Posting | undefined, slot: number, slots: number): Posting {
  if (posting === undefined || posting === slot) return slot;
  if (typeof posting === 'number') return posting < slot ? [posting, slot] : [slot, posting];
  if (posting instanceof BitSet) {
    posting.add(slot);
    return posting;
  }
  // Slots usually arrive in ascending order.
  const at = posting[posting.length - 1]! < slot ? posting.length : firstFrom(posting, slot);
  if (at === posting.length) posting.push(slot);
  else if (posting[at] !== slot) posting.splice(at, 0, slot);
  if (posting.length < Math.max(LISTED_MIN, slots / SLOTS_PER_LISTED)) return posting;
  const bits = BitSet.ofSize(slots);
  for (const listed of posting) bits.add(listed);
  return bits;
}

/** Removes `slot` from `posting`, which it may change. Returns undefined if no slot is left. */
export function withoutSlot(posting: Posting, slot: number): Posting | undefined {
  if (typeof posting === 'number') return posting === slot ? undefined : posting;
  if (posting instanceof BitSet) {
    posting.delete(slot);
    return posting.count === 0 ? undefined : posting;
  }
  const at = firstFrom(posting, slot);
  if (posting[at] === slot) posting.splice(at, 1);
  return posting.length === 1 ? posting[0] : posting;
}

export function addTo(slots: BitSet, posting: Posting): void {
  if (typeof posting === 'number') slots.add(posting);
  else if (posting instanceof BitSet) slots.unite(posting);
  else for (const slot of posting) slots.add(slot);
}

/** Returns the work of `addTo`. */
export function postingWork(posting: Posting): number {
  if (typeof posting === 'number') return WORK.term;
  return posting instanceof BitSet ? WORK.word * posting.words.length : WORK.term * posting.length;
}

/** Returns estimated heap bytes besides the reference to the posting. */
export function postingBytes(posting: Posting | undefined): number {
  if (posting === undefined || typeof posting === 'number') return 0;
  return posting instanceof BitSet ? 200 + posting.words.byteLength : 48 + 10 * posting.length;
}

/** Returns the index of `value` in an ascending list, or its place there. */
export const firstFrom = <T>(list: readonly T[], value: T): number => partition(list.length, (at) => list[at]! < value);
