import { VouchError } from '../../shared/errors/errors.js';
import type { IndexKind, IndexParameters } from '../../shared/model/indexSpec.js';
import type { Pause } from '../../shared/scheduling/pacer.js';
import { type Slice, sliceTurns } from '../../shared/scheduling/slice.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { Index } from './kind.js';
import type { ServingGeneration } from './maintenance.js';
import { mergeSortedHits } from './mergeSortedHits.js';
import { NO_SLOT, type Rows } from './rows.js';
import type { RowsToSave } from './store/rowsFile.js';

export interface GenerationParts {
  readonly number: number;
  readonly kind: IndexKind;
  readonly parameters: IndexParameters;
  readonly vectors: VectorBlocks;
  readonly rows: Rows;
  /** Undefined where there are too few rows for an index: all of them are the tail. */
  readonly index: Index | undefined;
  readonly trainedRows: number;
  /** Ordinals that were in it when it was saved. */
  readonly savedRows: number;
  /** Live slots of the tail that the index would not find. */
  readonly refused: SlotSet;
}

/**
 * An index as it was built, and the rows that it absorbed since. Every live row is either covered, and found through the
 * index, or in the tail, which each search scans exactly; a row passes from the tail to the covered rows in one step.
 */
export class Generation {
  number: number;
  #savedRows: number;
  /** There was no memory for another row. */
  #isFull = false;
  #searches = 0;
  #replaced = 0;
  #retired = false;
  /** Slots that died while the index is being written; undefined otherwise. */
  #diedMeanwhile: number[] | undefined;

  constructor(readonly parts: GenerationParts) {
    this.number = parts.number;
    this.#savedRows = parts.savedRows;
  }

  get bytes(): number {
    return this.parts.index?.bytes ?? 0;
  }

  /** Rows that each search scans exactly. */
  get tail(): number {
    return this.parts.vectors.liveCount - this.parts.rows.covered.count;
  }

  get serving(): ServingGeneration {
    const { kind, index, rows, trainedRows, refused } = this.parts;
    return {
      kind,
      indexed: index !== undefined,
      covered: rows.covered.count,
      garbage: rows.garbage,
      trainedRows,
      tail: this.tail - refused.count,
      capacityLeft: this.#isFull ? 0 : (index?.capacityLeft ?? 0),
      absorbs: index?.absorbs ?? false,
      refused: refused.count,
      unsaved: rows.count - this.#savedRows,
    };
  }

  /** Removes a row that has died, before its slot can be given to another. `isReplaced`: its record gets another row. */
  remove(slot: number, isReplaced = false): void {
    const { rows, refused } = this.parts;
    if (isReplaced) this.#replaced++;
    refused.delete(slot);
    if (this.#diedMeanwhile === undefined) {
      this.#removeNow(slot);
      return;
    }
    if (rows.ordinalOf(slot) === undefined) return;
    rows.covered.delete(slot);
    this.#diedMeanwhile.push(slot);
  }

  /** Absorbs rows of the tail until the slice is used up; false when no row is left that the index can take. */
  absorb(slice: Slice): boolean {
    const { index, vectors, rows, refused } = this.parts;
    if (!index?.absorbs || this.#retired || this.#diedMeanwhile !== undefined) return false;
    for (const slot of this.#absorbable()) {
      if (slice.due) return true;
      if (index.capacityLeft === 0) return false;
      const found = this.#absorbSlot(index, slot);
      if (found === undefined) return false;
      rows.add(vectors.idOf(slot), found ? slot : NO_SLOT);
      if (!found) refused.add(slot);
    }
    return false;
  }

  /**
   * Returns the nearest `k` live rows with exact scores; of those in `eligible`, where it is given. The caller ensures
   * that no slot of `eligible` passes to another row meanwhile.
   */
  async search(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Hits> {
    const { index, vectors } = this.parts;
    const pause = sliceTurns();
    if (index === undefined || this.#retired || this.#exactIsCheaper(index, k, eligible))
      return vectors.search(query, k, pause, { eligible });
    this.#searches++;
    try {
      return await this.#searchIndex(index, query, k, eligible, pause);
    } finally {
      this.#searches--;
      if (this.#retired && this.#searches === 0) await this.#free();
    }
  }

  /** Writes the covered rows and returns them. Rows that die meanwhile are removed afterwards; none is absorbed. */
  async persist(path: string): Promise<RowsToSave> {
    const { index, rows } = this.parts;
    if (index === undefined || this.#diedMeanwhile !== undefined) throw new Error('there is nothing to persist now');
    this.#diedMeanwhile = [];
    try {
      const recordIds = rows.recordIds;
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

  /** Notes that the first `rows` ordinals are on disk under `number`. */
  saved(number: number, rows: number): void {
    this.number = number;
    this.#savedRows = rows;
  }

  /** Ends its use: no search begins any more, and the memory is freed when the searches in flight have ended. */
  async retire(): Promise<void> {
    if (this.#retired) return;
    this.#retired = true;
    if (this.#searches === 0) await this.#free();
  }

  async #searchIndex(
    index: Index,
    query: Int32Array,
    k: number,
    eligible: SlotSet | undefined,
    pause: Pause,
  ): Promise<Hits> {
    const { vectors, rows } = this.parts;
    const replacedBefore = this.#replaced;
    // The tail comes first: a row that is absorbed meanwhile is then seen twice, and is never missed.
    const tail =
      this.tail === 0 ? undefined : await vectors.search(query, k, pause, { eligible, except: rows.covered });
    const proposed = await index.candidates(query, k, eligible);
    const found = await vectors.rank(query, k, proposed, pause, eligible);
    const hits = tail === undefined ? found : mergeSortedHits(tail, found, k);
    // A record that was replaced meanwhile was looked for at two rows, or at none. Eligible rows are those of the caller's moment.
    if (this.#replaced !== replacedBefore)
      return vectors.search(query, k, pause, eligible === undefined ? {} : { held: eligible });
    // An index that finds too few may have missed rows, which those of the tail do not make up for.
    const available = eligible === undefined ? vectors.liveCount : eligible.count;
    const isShort = (): boolean =>
      found.ids.length < k && found.ids.length < (eligible?.intersection(rows.covered) ?? rows.covered).count;
    if (hits.ids.length < Math.min(k, available) || isShort()) return vectors.search(query, k, pause, { eligible });
    return hits;
  }

  #exactIsCheaper(index: Index, k: number, eligible: SlotSet | undefined): boolean {
    const covered = this.parts.rows.covered.count;
    if (eligible === undefined) return covered <= index.cost(k);
    // Candidates that are not eligible cost as much.
    const share = Math.min(eligible.count / Math.max(covered, 1), 1);
    return eligible.count * share <= index.cost(k);
  }

  /** Frees the memory. Where that fails the garbage collector frees it later: no search or build fails of it. */
  async #free(): Promise<void> {
    await this.parts.index?.free().catch(() => undefined);
  }

  /** Undefined where there is no memory for the row. */
  #absorbSlot(index: Index, slot: number): boolean | undefined {
    try {
      return index.absorb(this.parts.rows.count, slot);
    } catch (error) {
      if (!(error instanceof VouchError) || error.code !== 'capacity_exceeded') throw error;
      this.#isFull = true;
      return undefined;
    }
  }

  #removeNow(slot: number): void {
    if (this.#retired) return;
    const ordinal = this.parts.rows.remove(slot);
    if (ordinal !== undefined) this.parts.index?.remove(ordinal, slot);
  }

  /** Yields the slots of the tail that were not refused, as they are while the caller reads them. */
  *#absorbable(): Generator<number> {
    const { vectors, rows, refused } = this.parts;
    for (const [index, block] of vectors.blocks.entries()) {
      const covered = rows.covered.countIn(index);
      if (block.live.count === covered + refused.countIn(index)) continue;
      const absorbable = block.live.clone();
      for (const without of [rows.covered.bitmap(index), refused.bitmap(index)])
        if (without !== undefined) absorbable.subtract(without);
      for (const row of absorbable) yield block.firstSlot + row;
    }
  }
}
