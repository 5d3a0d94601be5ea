/**
 * The slots that have one value: a lone slot as itself, a few in ascending order, many as bits. Millions of values that
 * one record has each so take no object of their own, and a value that half of the records have takes a bit a slot.
 */
import { SlotBits, setBit, uniteWith, type Words } from './slotBits.js';

export type Posting = number | number[] | SlotBits;

const LISTED_MIN = 32;
/** A listed slot takes 8 bytes, as much as the bits of 64. */
const SLOTS_PER_LISTED = 64;

/** `posting` with `slot`, in a collection whose slots lie below `slots`. Changes what it was given. */
export function withSlot(posting: Posting | undefined, slot: number, slots: number): Posting {
  if (posting === undefined || posting === slot) return slot;
  if (typeof posting === 'number') return posting < slot ? [posting, slot] : [slot, posting];
  if (posting instanceof SlotBits) {
    posting.add(slot);
    return posting;
  }
  // Slots mostly come in ascending order.
  const at = posting[posting.length - 1]! < slot ? posting.length : firstFrom(posting, slot);
  if (at === posting.length) posting.push(slot);
  else if (posting[at] !== slot) posting.splice(at, 0, slot);
  if (posting.length < Math.max(LISTED_MIN, slots / SLOTS_PER_LISTED)) return posting;
  const bits = new SlotBits(slots);
  for (const listed of posting) bits.add(listed);
  return bits;
}

/** `posting` without `slot`; undefined where nothing is left. Changes what it was given. */
export function withoutSlot(posting: Posting, slot: number): Posting | undefined {
  if (typeof posting === 'number') return posting === slot ? undefined : posting;
  if (posting instanceof SlotBits) {
    posting.delete(slot);
    return posting.count === 0 ? undefined : posting;
  }
  const at = firstFrom(posting, slot);
  if (posting[at] === slot) posting.splice(at, 1);
  return posting.length === 1 ? posting[0] : posting;
}

export function addTo(words: Words, posting: Posting): void {
  if (typeof posting === 'number') setBit(words, posting);
  else if (posting instanceof SlotBits) uniteWith(words, posting.words);
  else for (const slot of posting) setBit(words, slot);
}

/** Heap bytes besides the reference to it; a list with what it has grown ahead. */
export function postingBytes(posting: Posting | undefined): number {
  if (posting === undefined || typeof posting === 'number') return 0;
  return posting instanceof SlotBits ? 200 + posting.bytes : 48 + 10 * posting.length;
}

/** Where `slot` stands in the ascending list, or would. */
function firstFrom(listed: readonly number[], slot: number): number {
  let low = 0;
  let high = listed.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (listed[middle]! < slot) low = middle + 1;
    else high = middle;
  }
  return low;
}
