/**
 * The contract of every kind of index. An index knows rows by ordinals: 0, 1, 2, … in the order they came in, never given
 * twice within a generation. It is built in a worker thread and written to a file; the thread that owns the collection
 * opens the file, after a build and after a restart alike.
 *
 *   worker:  builder.build(rows) ──► payload file
 *   owner:   payload file ──► open ──► absorb / remove / candidates ──► persist ──► payload file
 *
 * An index only proposes rows. The exact kernel measures them, so that a row has the same score under any kind.
 */
import type { IndexParameters } from '../../shared/model/indexSpec.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { BuildProgress } from './progress.js';
import type { Rows } from './rows.js';

/** The rows that a worker builds an index of: live at one moment, and not overwritten during the build. */
export interface BuildRows {
  readonly dimension: number;
  /** The number of ordinals: those of the base first, then the others by slot. */
  readonly count: number;
  /** False for rows of the base that have died. They keep their ordinals and must not be found. */
  isLive(ordinal: number): boolean;
  /** The components of a live row: a view, not to be kept. */
  components(ordinal: number): Int32Array;
}

/** An earlier payload of the same kind and build parameters, to extend. It holds the ordinals below `count`. */
export interface BuildBase {
  readonly path: string;
  readonly count: number;
}

export interface BuildOrder {
  readonly rows: BuildRows;
  readonly parameters: IndexParameters;
  /** The payload file to write, which does not exist yet, in a folder that does. */
  readonly path: string;
  readonly base: BuildBase | undefined;
  /** To be advanced at least every few milliseconds; throws where the build was cancelled. */
  readonly progress: BuildProgress;
}

/** Runs in a worker thread. Seeds are fixed: the payload is a function of the order, unless threads share the work. */
export interface IndexBuilder {
  /**
   * Resolves when the payload is written, durable or not. Returns the ordinals of rows that the index would not find: they
   * are left out and searched exactly.
   */
  build(order: BuildOrder): Promise<{ readonly leftOut: readonly number[] }>;
}

export interface OpenOrder {
  readonly path: string;
  readonly vectors: VectorBlocks;
  /** By ordinal; rows that died since the build are removed right after opening. */
  readonly rows: Rows;
  readonly parameters: IndexParameters;
  readonly pause: () => Promise<void>;
}

/** An open index. It runs in the thread that owns the collection, and holds that thread for a few milliseconds at most. */
export interface Index {
  /** Memory besides the vectors. */
  readonly bytes: number;
  /** Rows it can absorb before it must be built anew. */
  readonly capacityLeft: number;
  /** Whether `absorb` takes a few milliseconds at most; else rows wait for the next build. */
  readonly absorbs: boolean;
  /** The cost of `candidates`, in rows of an exact scan: the search is exact where that is cheaper. */
  cost(k: number): number;
  /** Adds the row at `slot` under the next ordinal. False where the index would not find it: it stays in the tail. */
  absorb(ordinal: number, slot: number): boolean;
  /** Removes the row at `slot`, whose vector is about to be overwritten. */
  remove(ordinal: number, slot: number): void;
  /**
   * Returns the slots of rows that may be the nearest `k`, of those in `eligible` where it is given: more than `k` where
   * the kind's estimate is coarse, fewer where it finds no more. Slots may have died while it paused.
   */
  candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array>;
  /** Writes all rows, with or without removed ones, as `open` reads them. No row is absorbed or removed meanwhile. */
  persist(path: string): Promise<void>;
  /** Frees all memory. Nothing else may be called afterwards. */
  free(): Promise<void>;
}

export interface KindOfIndex {
  /** Throws an Error of one line where the payload is inconsistent. */
  open(order: OpenOrder): Promise<Index>;
  /** Whether one payload can be the base of another: `m`, `efConstruction`, `nList` and the like are equal. */
  sameBuild(one: IndexParameters, other: IndexParameters): boolean;
}
