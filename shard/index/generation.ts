import { VouchError } from '../../shared/errors.js';
import type { IndexKind, IndexParameters } from '../../shared/indexSpec.js';
import { setBits } from '../kernel/bits.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { nextTurn, type Slice } from '../pause.js';
import type { Absorbing } from './absorber.js';
import type { Index } from './kind.js';
import type { Serving } from './maintenance.js';
import { mergeHits } from './mergeHits.js';
import { NO_SLOT, type Rows } from './rows.js';

export interface GenerationParts {
  readonly number: number;
  readonly kind: IndexKind;
  readonly parameters: IndexParameters;
  readonly vectors: VectorBlocks;
  readonly rows: Rows;
  /** Undefined where there are too few rows for one: all of them are the tail. */
  readonly index: Index | undefined;
  readonly trainedRows: number;
  /** Ordinals that were in it when it was saved. */
  readonly savedRows: number;
  /** Live slots that the index was built without, since it would not find them. */
  readonly refused: SlotSet;
}

/** `leftOut`: ordinals that must not be found. */
export interface SavedRows {
  readonly recordIds: Float64Array;
  readonly leftOut: readonly number[];
}

/**
 * An index as it was built, and what it absorbed since. Every live row is either covered, and found through the index,
 * or in the tail, which each search scans exactly; a row passes from the tail to the covered ones in one step.
 */
export class Generation implements Absorbing {
  readonly kind: IndexKind;
  readonly parameters: IndexParameters;
  readonly #parts: GenerationParts;
  number: number;
  /** Slots of the tail that the index would not find if it absorbed them. */
  readonly #refused: SlotSet;
  #savedRows: number;
  /** There was no memory for another row. */
  #isFull = false;
  #searches = 0;
  #retired = false;
  /** Slots that died while the index was being written; undefined where it is not. */
  #diedMeanwhile: number[] | undefined;

  constructor(parts: GenerationParts) {
    this.#parts = parts;
    this.number = parts.number;
    this.kind = parts.kind;
    this.parameters = parts.parameters;
    this.#refused = parts.refused;
    this.#savedRows = parts.savedRows;
  }

  get bytes(): number {
    return this.#parts.index?.bytes ?? 0;
  }

  get rows(): Rows {
    return this.#parts.rows;
  }

  get trainedRows(): number {
    return this.#parts.trainedRows;
  }

  /** Rows that each search scans exactly. */
  get tail(): number {
    return this.#parts.vectors.liveCount - this.rows.covered.count;
  }

  get serving(): Serving {
    const { index, rows, trainedRows } = this.#parts;
    return {
      kind: this.kind,
      indexed: index !== undefined,
      covered: rows.covered.count,
      garbage: rows.garbage,
      trainedRows,
      tail: this.tail - this.#refused.count,
      room: this.#isFull ? 0 : (index?.room ?? 0),
      unsaved: rows.count - this.#savedRows,
    };
  }

  /** The row has died, or is about to: before its slot can be given to another. */
  remove(slot: number): void {
    this.#refused.delete(slot);
    if (this.#diedMeanwhile === undefined) {
      this.#removeNow(slot);
      return;
    }
    if (this.rows.ordinalOf(slot) === undefined) return;
    this.rows.covered.delete(slot);
    this.#diedMeanwhile.push(slot);
  }

  /** Absorbs rows of the tail until the slice is used up; false when none is left that it can take. */
  absorb(slice: Slice): boolean {
    const { index, vectors, rows } = this.#parts;
    if (index === undefined || this.#retired || this.#diedMeanwhile !== undefined) return false;
    for (const slot of this.#absorbable()) {
      if (slice.due) return true;
      if (index.room === 0) return false;
      const found = this.#absorbed(index, slot);
      if (found === undefined) return false;
      rows.add(vectors.idOf(slot), found ? slot : NO_SLOT);
      if (!found) this.#refused.add(slot);
    }
    return false;
  }

  /**
   * The nearest `k` live rows, of those in `eligible` where it is given; exact scores. The caller sees to it that no slot
   * of `eligible` passes to another row meanwhile.
   */
  async search(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Hits> {
    const { index, vectors } = this.#parts;
    if (index === undefined || this.#exactIsCheaper(index, k, eligible))
      return vectors.search(query, k, nextTurn, { eligible });
    this.#searches++;
    try {
      return await this.#searchIndex(index, query, k, eligible);
    } finally {
      this.#searches--;
      if (this.#retired && this.#searches === 0) await this.#free();
    }
  }

  /**
   * Writes what it covers now, and returns its rows. Rows that die meanwhile are taken out afterwards; none is absorbed.
   */
  async persist(path: string): Promise<SavedRows> {
    const { index, rows } = this.#parts;
    if (index === undefined || this.#diedMeanwhile !== undefined) throw new Error('there is nothing to persist now');
    this.#diedMeanwhile = [];
    try {
      const recordIds = new Float64Array(rows.recordIds);
      const leftOut: number[] = [];
      for (let ordinal = 0; ordinal < recordIds.length; ordinal++)
        if (rows.slotOf(ordinal) === NO_SLOT) leftOut.push(ordinal);
      await index.persist(path);
      return { recordIds, leftOut };
    } finally {
      const died = this.#diedMeanwhile;
      this.#diedMeanwhile = undefined;
      if (!this.#retired) for (const slot of died) this.#removeNow(slot);
    }
  }

  /** What is on disk covers the first `rows` ordinals. */
  saved(number: number, rows: number): void {
    this.number = number;
    this.#savedRows = rows;
  }

  /** No search begins any more; the memory is given back when those under way have ended. */
  async retire(): Promise<void> {
    if (this.#retired) return;
    this.#retired = true;
    if (this.#searches === 0) await this.#free();
  }

  async #searchIndex(index: Index, query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Hits> {
    const { vectors, rows } = this.#parts;
    // The tail comes first: a row that is absorbed meanwhile is then seen twice, and never not at all.
    const tail =
      this.tail === 0 ? undefined : await vectors.search(query, k, nextTurn, { eligible, except: rows.covered });
    const proposed = await index.candidates(query, k, eligible);
    const found = await vectors.rank(query, k, proposed, nextTurn, eligible);
    const hits = tail === undefined ? found : mergeHits(tail, found, k);
    const mostThere = eligible === undefined ? vectors.liveCount : eligible.count;
    // An index that comes up short may have missed rows that are there.
    if (hits.ids.length < Math.min(k, mostThere)) return vectors.search(query, k, nextTurn, { eligible });
    return hits;
  }

  #exactIsCheaper(index: Index, k: number, eligible: SlotSet | undefined): boolean {
    const covered = this.rows.covered.count;
    if (eligible === undefined) return covered <= index.cost(k);
    // Candidates that are not eligible are paid for as well.
    const share = Math.min(eligible.count / Math.max(covered, 1), 1);
    return eligible.count * share <= index.cost(k);
  }

  /** What cannot be given back now, the garbage collector gives back later: nobody's search or build fails of it. */
  async #free(): Promise<void> {
    await this.#parts.index?.free().catch(() => undefined);
  }

  /** Undefined where there is no memory for it. */
  #absorbed(index: Index, slot: number): boolean | undefined {
    try {
      return index.absorb(this.rows.count, slot);
    } catch (error) {
      if (!(error instanceof VouchError) || error.code !== 'capacity_exceeded') throw error;
      this.#isFull = true;
      return undefined;
    }
  }

  #removeNow(slot: number): void {
    const ordinal = this.rows.remove(slot);
    if (ordinal !== undefined) this.#parts.index?.remove(ordinal, slot);
  }

  /** Slots of the tail that were not refused, as they are while the caller goes through them. */
  *#absorbable(): Generator<number> {
    const { vectors, rows } = this.#parts;
    for (const [index, block] of vectors.blocks.entries()) {
      const covered = rows.covered.countIn(index);
      if (block.liveCount === covered + this.#refused.countIn(index)) continue;
      const words = block.live.slice();
      for (const without of [rows.covered.bitmap(index), this.#refused.bitmap(index)])
        if (without !== undefined) for (let i = 0; i < words.length; i++) words[i]! &= ~without[i]!;
      for (const row of setBits(words)) yield block.firstSlot + row;
    }
  }
}
