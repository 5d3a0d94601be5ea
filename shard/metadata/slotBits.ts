/**
 * Sets of slots as one run of bits: slot s is bit s % 32 of word s / 32. All the set operations of a filter are made on
 * these words, of one length for all; only its outcome is laid out as the collection's blocks lie.
 */
export type Words = Uint32Array;

export const WORD_SLOTS = 32;

export const emptyWords = (slots: number): Words => new Uint32Array(Math.ceil(slots / WORD_SLOTS));

export const hasBit = (words: Words, slot: number): boolean => ((words[slot >>> 5]! >>> (slot & 31)) & 1) === 1;

export function setBit(words: Words, slot: number): void {
  words[slot >>> 5]! |= 1 << (slot & 31);
}

export function uniteWith(words: Words, others: Words): void {
  for (let i = Math.min(words.length, others.length) - 1; i >= 0; i--) words[i]! |= others[i]!;
}

export function intersectWith(words: Words, others: Words): void {
  for (let i = 0; i < words.length; i++) words[i]! &= others[i]!;
}

/** Takes `others` out of `words`. */
export function subtract(words: Words, others: Words): void {
  for (let i = 0; i < words.length; i++) words[i]! &= ~others[i]!;
}

export function isEmpty(words: Words): boolean {
  for (let i = 0; i < words.length; i++) if (words[i] !== 0) return false;
  return true;
}

/** A set that changes, kept as words that grow with the highest slot. */
export class SlotBits {
  #words: Words;
  #count = 0;

  /** Room for slots below `slots`, to begin with. */
  constructor(slots = WORD_SLOTS) {
    this.#words = emptyWords(slots);
  }

  get words(): Words {
    return this.#words;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  has(slot: number): boolean {
    return slot >>> 5 < this.#words.length && hasBit(this.#words, slot);
  }

  add(slot: number): void {
    if (slot >>> 5 >= this.#words.length) this.#grow(slot);
    if (hasBit(this.#words, slot)) return;
    setBit(this.#words, slot);
    this.#count += 1;
  }

  delete(slot: number): void {
    if (!this.has(slot)) return;
    this.#words[slot >>> 5]! ^= 1 << (slot & 31);
    this.#count -= 1;
  }

  #grow(slot: number): void {
    const grown = new Uint32Array(Math.max((slot >>> 5) + 1, Math.ceil(this.#words.length * 1.25)));
    grown.set(this.#words);
    this.#words = grown;
  }
}
