import type { SlotSet } from '../kernel/slotSet.js';
import type { TopScores } from './topScores.js';

/** More written slots than this share of all are forgotten all at once. */
const FILLED = 1 / 16;

const WORD_BITS = 32;

/** Scores by slot while the postings of a query are gone through: zero everywhere between two uses, and no slot marked. */
export class ScoreBoard {
  #scores = new Float64Array(0);
  #slots = new Uint32Array(0);
  #marks = new Uint32Array(0);
  #written = 0;

  get bytes(): number {
    return this.#scores.byteLength + this.#slots.byteLength + this.#marks.byteLength;
  }

  /** By slot; slots beyond its length have none. */
  get scores(): Float64Array {
    return this.#scores;
  }

  /** The first `written` of them are the slots whose score may not be zero, each once; there is room for all. */
  get slots(): Uint32Array {
    return this.#slots;
  }

  /** A bit for each slot: few of them, in memory so small that going through a long list of others is fast. */
  get marks(): Uint32Array {
    return this.#marks;
  }

  /** To be told by who writes. */
  get written(): number {
    return this.#written;
  }

  set written(count: number) {
    this.#written = count;
  }

  /** Between two uses. */
  reserve(slots: number): void {
    if (slots <= this.#slots.length) return;
    this.#scores = new Float64Array(slots);
    this.#slots = new Uint32Array(slots);
    this.#marks = new Uint32Array(Math.ceil(slots / WORD_BITS));
  }

  mark(slots: Uint32Array): void {
    for (const slot of slots) this.#marks[slot >>> 5]! |= 1 << (slot & 31);
  }

  unmark(slots: Uint32Array): void {
    for (const slot of slots) this.#marks[slot >>> 5] = 0;
  }

  set(slot: number, score: number): void {
    if (slot >= this.#scores.length) return;
    if (this.#scores[slot] === 0 && score > 0) this.#slots[this.#written++] = slot;
    this.#scores[slot] = score;
  }

  /** Offers the written slots from `from` to `to` that score above 0, with their ids as ties; only those of `eligible`. */
  offer(top: TopScores, from: number, to: number, idOf: (slot: number) => number, eligible?: SlotSet): void {
    const scores = this.#scores;
    const slots = this.#slots;
    let { least, leastTie } = top;
    const end = Math.min(to, this.#written);
    for (let i = from; i < end; i++) {
      const slot = slots[i]!;
      const score = scores[slot]!;
      if (score < least || score === 0) continue;
      const id = idOf(slot);
      // Short texts score alike by the thousand: of those only the smallest ids come further.
      if ((score === least && id > leastTie) || eligible?.has(slot) === false) continue;
      top.offer(slot, score, id);
      least = top.least;
      leastTie = top.leastTie;
    }
  }

  clear(): void {
    if (this.#written > FILLED * this.#scores.length) this.#scores.fill(0);
    else for (let i = 0; i < this.#written; i++) this.#scores[this.#slots[i]!] = 0;
    this.#written = 0;
  }
}
