/** The score accumulator of term-at-a-time evaluation: 12 bytes and a bit per slot, cleared after each use. */
import { BitSet } from '../kernel/bitSet.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { TopK } from '../kernel/topK.js';

/** If more than this share of all slots is written, all scores are cleared at once. */
const FILLED = 1 / 16;

/**
 * Sums of scores by slot, while the postings of a query are read. Between two uses all are 0, and no slot is marked.
 */
export class ScoreAccumulator {
  /** Score of each slot; slots beyond its length have none. */
  scores = new Float64Array(0);
  /** The first `written` entries are the slots whose score may not be 0, each once. There is capacity for all slots. */
  slots = new Uint32Array(0);
  written = 0;
  /** Marked slots, one bit each: few, in memory so small that skipping a long list of others is fast. */
  marks = BitSet.ofSize(0);

  get bytes(): number {
    return this.scores.byteLength + this.slots.byteLength + this.marks.words.byteLength;
  }

  /** Makes room. Call it between two uses. */
  reserve(slots: number): void {
    if (slots <= this.slots.length) return;
    this.scores = new Float64Array(slots);
    this.slots = new Uint32Array(slots);
    this.marks = BitSet.ofSize(slots);
  }

  mark(slots: Uint32Array): void {
    for (const slot of slots) this.marks.add(slot);
  }

  unmark(slots: Uint32Array): void {
    for (const slot of slots) this.marks.delete(slot);
  }

  set(slot: number, score: number): void {
    if (slot >= this.scores.length) return;
    if (this.scores[slot] === 0 && score > 0) this.slots[this.written++] = slot;
    this.scores[slot] = score;
  }

  scoresOf(slots: Uint32Array): Float64Array {
    const scores = new Float64Array(slots.length);
    for (let i = 0; i < slots.length; i++) scores[i] = this.scores[slots[i]!] ?? 0;
    return scores;
  }

  /**
   * Offers the written slots from `from` to `to` with a score above 0, with ids as ties, optionally only those of
   * `eligible`.
   */
  offer(
    top: TopK,
    { from, to }: { readonly from: number; readonly to: number },
    idOf: (slot: number) => number,
    eligible?: SlotSet,
  ): void {
    const { scores, slots } = this;
    let { worst, worstTie } = top;
    const end = Math.min(to, this.written);
    for (let i = from; i < end; i++) {
      const slot = slots[i]!;
      const score = scores[slot]!;
      if (-score > worst || score === 0) continue;
      const id = idOf(slot);
      // Thousands of short texts have equal scores: only the smallest ids pass.
      if ((-score === worst && id > worstTie) || eligible?.has(slot) === false) continue;
      top.offer(slot, -score, id);
      worst = top.worst;
      worstTie = top.worstTie;
    }
  }

  clear(): void {
    if (this.written > FILLED * this.scores.length) this.scores.fill(0);
    else for (let i = 0; i < this.written; i++) this.scores[this.slots[i]!] = 0;
    this.written = 0;
  }
}
