/**
 * What every kind of index is. An index knows rows by ordinals: 0, 1, 2, … in the order they came in, never given twice
 * within a generation. It is built in a worker thread and written to a file; the thread that owns the collection opens
 * the file, whether it was written a moment or a restart ago.
 *
 *   worker:  builder.build(rows) ──► payload file
 *   owner:   payload file ──► open ──► absorb / remove / candidates ──► persist ──► payload file
 *
 * An index only proposes. The exact kernel measures what it proposes, so that a row has the same score under any kind.
 */
import type { IndexParameters } from '../../shared/indexSpec.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { Progress } from './build/progress.js';
import type { Rows } from './rows.js';

/** Rows as a worker sees them: live at one moment, and not overwritten as long as the build goes on. */
export interface BuildRows {
  readonly dimension: number;
  /** Ordinals there are: those of the base first, then the others by slot. */
  readonly count: number;
  /** Of a base, rows may have died since. They keep their ordinals and must not be found. */
  isLive(ordinal: number): boolean;
  /** The components of a live row: a view, not to be kept. */
  components(ordinal: number): Int32Array;
}

/** An earlier payload of the same kind and build parameters, to start from: ordinals below `count` are in it. */
export interface BuildBase {
  readonly path: string;
  readonly count: number;
}

export interface BuildOrder {
  readonly rows: BuildRows;
  readonly parameters: IndexParameters;
  /** Where the payload goes: a file that is not there yet, in a folder that is. */
  readonly path: string;
  readonly base: BuildBase | undefined;
  /** To be advanced at least every few milliseconds; throws where the build was cancelled. */
  readonly progress: Progress;
}

/** Runs in a worker thread. Everything it does is a function of the order: seeds are fixed. */
export interface IndexBuilder {
  /**
   * Resolves when the payload is written; it need not be durable yet. May leave rows out that it would not find: they
   * are returned, and are searched exactly.
   */
  build(order: BuildOrder): Promise<{ readonly leftOut: readonly number[] }>;
}

export interface OpenOrder {
  readonly path: string;
  readonly vectors: VectorBlocks;
  /** By ordinal; those that died since the build are removed right after opening. */
  readonly rows: Rows;
  readonly parameters: IndexParameters;
  readonly pause: () => Promise<void>;
}

/** An open index. All of it runs in the thread that owns the collection, and nothing holds that thread for long. */
export interface Index {
  /** Memory held beside the vectors. */
  readonly bytes: number;
  /** Rows it can absorb before it must be built anew. */
  readonly room: number;
  /** What `candidates` costs, in rows of an exact scan: the search is exact where that is cheaper. */
  cost(k: number): number;
  /**
   * Takes in the row at `slot` under the next ordinal, within a few milliseconds. False where it would not find it:
   * the row then stays among those that are searched exactly.
   */
  absorb(ordinal: number, slot: number): boolean;
  /** The row at `slot` is not to be proposed any more, and its vector is about to be overwritten. */
  remove(ordinal: number, slot: number): void;
  /**
   * Slots of rows that may be the nearest `k` of those that are in `eligible`, where it is given; more than `k` where
   * the kind's estimate is coarse, fewer where it finds no more. Slots may have died while it paused.
   */
  candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array>;
  /** Writes all rows, removed ones included or not, as `open` reads them. No row is absorbed or removed meanwhile. */
  persist(path: string): Promise<void>;
  /** Gives all memory back. Nothing else may be called afterwards. */
  free(): Promise<void>;
}

export interface KindOfIndex {
  /** Throws an Error of one line where the payload does not hold together. */
  open(order: OpenOrder): Promise<Index>;
  /** What must be equal for one payload to be the base of another: `m`, `efConstruction`, `nList` and the like. */
  sameBuild(one: IndexParameters, other: IndexParameters): boolean;
}
