/**
 * One build of an index with its tail. A search asks the index for candidates, measures them exactly, and scans the tail
 * exactly. It scans all rows exactly instead if that is cheaper (`#exactIsCheaper`), and again if the index found too few
 * (`#isShort`).
 */
import { VouchError } from '../../shared/errors/errors.js';
import type { IndexKind, IndexParameters } from '../../shared/model/indexSpec.js';

import { type Slice, sliceTurns } from '../../shared/scheduling/slice.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { filteredExactCost } from './filteredExactCost.js';
import type { Index } from './kind.js';
import type { ServingGeneration } from './maintenance.js';
import { mergeSortedHits } from './mergeSortedHits.js';
import { NO_SLOT, type Rows } from './rows.js';
import type { RowsToSave } from './store/rowsFile.js';

/** Rows whose record and slot are read between two pauses: well below a millisecond. */
const READ_AT_ONCE = 4096;

export interface GenerationParts {
  readonly number: number;
  readonly kind: IndexKind;
  readonly parameters: IndexParameters;
  readonly vectors: VectorBlocks;
  readonly rows: Rows;
  /** Undefined with too few rows for an index: then all of them are the tail. */
  readonly index: Index | undefined;
  /** Live rows when the index was last built from scratch. */
  readonly trainedRows: number;
  /** Number of ordinals in the saved index. */
  readonly savedRows: number;
  /** Live slots of the tail that the index would not find. */
  readonly refused: SlotSet;
}

/**
 * An index as it was built, and the rows absorbed since. Every live row is covered, that is found through the index, or in
 * the tail, which each search scans exactly. Absorption makes a row of the tail a covered one, in one step.
 */
export class Generation {
  number: number;
  #savedRows: number;
  /** Whether memory was too short to absorb a row. */
  #isFull = false;
  /** Searches of the index in flight that take several turns. */
  #searches = 0;
  /** Number of replacements of records so far. */
  #replaced = 0;
  #retired = false;
  /** Readers of the index: `persist`, and the searches that its `search` makes. While there are any, no row is absorbed or removed. */
  #readers = 0;
  #isPersisting = false;
  /** Slots of covered rows that died while there were readers. They are removed when the last reader ends. */
  readonly #diedMeanwhile: number[] = [];
  /** Slice of an absorption that continues when the last reader ends. */
  #absorbsNext: Slice | undefined;

  constructor(readonly parts: GenerationParts) {
    this.number = parts.number;
    this.#savedRows = parts.savedRows;
  }

  get bytes(): number {
    return this.parts.index?.bytes ?? 0;
  }

  get segments(): number | null {
    return this.parts.index?.segments ?? null;
  }

  /** Number of rows that each search scans exactly. */
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

  /** Removes the row of a slot that has died, before the slot is reused. `isReplaced`: the record gets another row. */
  remove(slot: number, isReplaced = false): void {
    const { rows, refused } = this.parts;
    if (isReplaced) this.#replaced++;
    refused.delete(slot);
    if (this.#readers === 0) {
      this.#removeNow(slot);
      return;
    }
    if (rows.ordinalOf(slot) === undefined) return;
    rows.covered.delete(slot);
    this.#diedMeanwhile.push(slot);
  }

  /** Absorbs rows of the tail until the slice is used up. Returns false when no row is left, or none can be absorbed. */
  absorb(slice: Slice): boolean {
    const { index, vectors, rows, refused } = this.parts;
    if (!index?.absorbs || this.#retired || this.#isPersisting) return false;
    if (this.#readers > 0) {
      this.#absorbsNext = slice;
      return true;
    }
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
   * Returns the nearest `k` live rows with exact scores, optionally only those in `eligible`. Until the result is there, the
   * caller lets no slot of `eligible` be reused.
   */
  search(query: Int32Array, k: number, eligible: SlotSet | undefined): Hits | Promise<Hits> {
    const { index, vectors } = this.parts;
    if (index === undefined || this.#retired || this.#exactIsCheaper(index, k, eligible))
      return vectors.search(query, k, sliceTurns(), { eligible });
    const found = this.#mayBeRead ? index.search?.(query, k, eligible) : undefined;
    if (found === undefined) return this.#counted(this.#searchIndex(index, query, k, eligible));
    // Most searches end here, in one turn.
    if (!(found instanceof Promise) && this.tail === 0 && !this.#isShort(found, found, k, eligible)) return found;
    return this.#counted(this.#searchWithTail(found, query, k, eligible));
  }

  /** Counts a search in flight. */
  async #counted(search: Promise<Hits>): Promise<Hits> {
    this.#searches++;
    try {
      return await search;
    } finally {
      this.#searches--;
      if (this.#retired && this.#searches === 0) await this.#free();
    }
  }

  /**
   * Writes a payload of the covered rows, and returns its rows. Until it is written no row is absorbed, and rows that die
   * stay in the index.
   */
  async persist(path: string): Promise<RowsToSave> {
    const { index, rows } = this.parts;
    if (index === undefined || this.#isPersisting) throw new Error('there is nothing to persist now');
    this.#isPersisting = true;
    this.#readers++;
    try {
      const pause = sliceTurns();
      // Shared memory reaches the thread that writes the rows without a copy.
      const recordIds = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT * rows.count));
      const leftOut: number[] = [];
      for (let ordinal = 0; ordinal < recordIds.length; ordinal++) {
        recordIds[ordinal] = rows.recordIdOf(ordinal);
        if (rows.slotOf(ordinal) === NO_SLOT) leftOut.push(ordinal);
        if ((ordinal + 1) % READ_AT_ONCE === 0) await pause();
      }
      await index.persist(path);
      return { recordIds, leftOut };
    } finally {
      this.#isPersisting = false;
      this.#endRead();
    }
  }

  /** Notes that the first `rows` ordinals are saved, as generation `number`. */
  noteSaved(number: number, rows: number): void {
    this.number = number;
    this.#savedRows = rows;
  }

  /** Ends the generation. Later searches are exact; the memory is freed after the last search of the index. */
  async retire(): Promise<void> {
    if (this.#retired) return;
    this.#retired = true;
    if (this.#searches === 0) await this.#free();
  }

  /** Whether the index may get another reader. It may not while work waits for the end of the last one. */
  get #mayBeRead(): boolean {
    return this.#diedMeanwhile.length === 0 && this.#absorbsNext === undefined;
  }

  #endRead(): void {
    if (--this.#readers > 0) return;
    for (const slot of this.#diedMeanwhile.splice(0)) this.#removeNow(slot);
    const slice = this.#absorbsNext?.again();
    this.#absorbsNext = undefined;
    if (slice !== undefined) this.absorb(slice);
  }

  /** Searches the tail while the index is searched, and merges the hits. `found`: those of the index. */
  async #searchWithTail(
    found: Hits | Promise<Hits>,
    query: Int32Array,
    k: number,
    eligible: SlotSet | undefined,
  ): Promise<Hits> {
    const { vectors, rows } = this.parts;
    const pause = sliceTurns();
    const scan = vectors.beginScan();
    this.#readers++;
    try {
      const live = eligible?.count ?? vectors.liveCount;
      const reachable = Math.min(live, rows.covered.count);
      const tail = this.tail === 0 ? undefined : vectors.search(query, k, pause, { eligible, except: rows.covered });
      const [near, others] = await Promise.all([found, tail]);
      const hits = others === undefined ? near : mergeSortedHits(others, near, k);
      if (hits.ids.length >= Math.min(k, live) && near.ids.length >= Math.min(k, reachable)) return hits;
      return this.#isShort(near, hits, k, eligible) ? await vectors.search(query, k, pause, { eligible }) : hits;
    } finally {
      vectors.endScan(scan);
      this.#endRead();
    }
  }

  /** Searches tail and index in the event loop. */
  async #searchIndex(index: Index, query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Hits> {
    const { vectors, rows } = this.parts;
    const pause = sliceTurns();
    const replacedBefore = this.#replaced;
    // Search the tail first, so that a row absorbed meanwhile is found twice and never missed.
    const tail =
      this.tail === 0 ? undefined : await vectors.search(query, k, pause, { eligible, except: rows.covered });
    const proposed = await index.candidates(query, k, eligible);
    const found = await vectors.rank(query, k, { slots: proposed, eligible }, pause);
    const hits = tail === undefined ? found : mergeSortedHits(tail, found, k);
    // The search may have seen two rows of a record that was replaced meanwhile, or none. Repeat it exactly, over the rows
    // of `eligible`, which are those of the call.
    if (this.#replaced !== replacedBefore)
      return vectors.search(query, k, pause, eligible === undefined ? {} : { only: eligible });
    return this.#isShort(found, hits, k, eligible) ? vectors.search(query, k, pause, { eligible }) : hits;
  }

  /** Whether too few rows were found, in all or through the index: then the index may have missed some. */
  #isShort(found: Hits, hits: Hits, k: number, eligible: SlotSet | undefined): boolean {
    const { vectors, rows } = this.parts;
    if (hits.ids.length < Math.min(k, eligible?.count ?? vectors.liveCount)) return true;
    if (found.ids.length >= k) return false;
    return found.ids.length < (eligible?.countShared(rows.covered) ?? rows.covered.count);
  }

  #exactIsCheaper(index: Index, k: number, eligible: SlotSet | undefined): boolean {
    const { rows, vectors } = this.parts;
    const covered = rows.covered.count;
    if (eligible === undefined) return covered <= index.cost(k);
    const { shape, blocks } = vectors;
    return filteredExactCost(shape, { eligible: eligible.count, covered, blocks: blocks.length }) <= index.cost(k);
  }

  /** Frees the memory. Ignores a failure: the garbage collector frees the memory later. */
  async #free(): Promise<void> {
    await this.parts.index?.free().catch(() => undefined);
  }

  /** Absorbs the row at `slot`. Returns undefined if memory is short. */
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

  /** Yields the slots of the tail that the index did not refuse, block by block, each block as of its turn. */
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
