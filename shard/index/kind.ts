/**
 * The contract of every kind of index. An index knows rows by ordinals: 0, 1, 2, … in order of arrival, never reused
 * within a generation. A worker thread builds it and writes a file. The thread that owns the collection opens the file,
 * after a build or a restart.
 *
 * ```text
 * Worker:  builder.build(rows) ──► payload file.
 * Owner:   payload file ──► open ──► absorb / remove / candidates ──► persist ──► payload file.
 * ```
 *
 * An index only proposes rows. The exact kernel measures them, so a row has the same score under any kind.
 */
import type { IndexParameters } from '../../shared/model/indexSpec.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { BuildProgress } from './progress.js';
import type { Rows } from './rows.js';

/** Rows that a worker builds an index of: live at one moment, and not overwritten during the build. */
export interface BuildRows {
  readonly dimension: number;
  /** Number of ordinals: those of the base first, then the others by slot. */
  readonly count: number;
  /** Returns false for rows of the base that have died. They keep their ordinals and must not be found. */
  isLive(ordinal: number): boolean;
  /** Components of a live row: a view, valid for a moment. */
  components(ordinal: number): Int32Array;
}

/** An earlier payload of the same kind and build parameters, to extend. It has the ordinals below `count`. */
export interface BuildBase {
  readonly path: string;
  readonly count: number;
}

export interface BuildOrder {
  readonly rows: BuildRows;
  readonly parameters: IndexParameters;
  /** Path of the payload file to write. The file does not exist; its folder does. */
  readonly path: string;
  readonly base: BuildBase | undefined;
  /** Progress to advance at least every few milliseconds. It throws if the build was cancelled. */
  readonly progress: BuildProgress;
}

/** Runs in a worker thread. Seeds are fixed: the payload is a function of the order, unless threads share the work. */
export interface IndexBuilder {
  /**
   * Resolves when the payload is written, durable or not. Returns the ordinals of rows that the index would not find.
   * They are left out and searched exactly.
   */
  build(order: BuildOrder): Promise<{ readonly leftOut: readonly number[] }>;
}

export interface OpenOrder {
  readonly path: string;
  readonly vectors: VectorBlocks;
  /** Rows by ordinal. Those that died since the build are removed right after opening. */
  readonly rows: Rows;
  readonly parameters: IndexParameters;
  readonly pause: () => Promise<void>;
}

/** An open index. It runs in the thread that owns the collection, and blocks it for a few milliseconds at most. */
export interface Index {
  /** Memory besides the vectors. */
  readonly bytes: number;
  /** Rows it can absorb before it must be rebuilt. */
  readonly capacityLeft: number;
  /** Whether `absorb` takes a few milliseconds at most. If not, rows wait for the next build. */
  readonly absorbs: boolean;
  /** Cost of `candidates`, in rows of an exact scan. The search is exact if that is cheaper. */
  cost(k: number): number;
  /**
   * Adds the row at `slot` under the next ordinal. Returns false if the index would not find it: it stays in the tail.
   */
  absorb(ordinal: number, slot: number): boolean;
  /** Removes the row at `slot`, whose vector is about to be overwritten. */
  remove(ordinal: number, slot: number): void;
  /**
   * Returns the slots of rows that may be the nearest `k`, optionally only of those in `eligible`. They are more than
   * `k` if the kind's estimate is coarse, fewer if it finds no more. Slots may have died during a pause.
   */
  candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array>;
  /**
   * Returns the nearest `k` rows of `candidates`, measured exactly, on the search threads of the process. Undefined
   * without threads, or for a search that only `candidates` makes. Until the result no row is absorbed or removed, and
   * no slot is reused.
   */
  search?(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Hits> | undefined;
  /** Writes all rows, with or without removed ones, for `open` to read. No row is absorbed or removed until then. */
  persist(path: string): Promise<void>;
  /** Frees all memory. Call nothing else afterwards. */
  free(): Promise<void>;
}

export interface KindOfIndex {
  /** Opens a payload. Throws a one-line Error if it is inconsistent. */
  open(order: OpenOrder): Promise<Index>;
  /** Whether one payload can be the base of another: `m`, `efConstruction`, `nList` and the like are equal. */
  sameBuild(one: IndexParameters, other: IndexParameters): boolean;
}
