/**
 * The contract of every kind of index. An index knows rows by ordinals: 0, 1, 2, … in order of arrival, never reused
 * within a generation. A build thread makes the index and writes it to a file, the payload. The shard's event loop opens
 * the payload, after a build or a restart.
 *
 * ```text
 * build thread:  builder.build(rows) ──▶ payload
 * event loop:    payload ──▶ open ──▶ absorb / remove / candidates ──▶ persist ──▶ payload
 * ```
 *
 * An index only proposes rows. The exact kernel measures them, so a row has the same score under any kind.
 *
 * The layers of this folder, top first:
 * ```text
 * collectionIndex, generationMaker   life cycle of the generations of one collection
 * generation, maintenance            one index and its tail; the next step
 * builds/                            the build threads
 * hnsw/ ivf/ bq/                     the kinds of index, listed in kinds.ts
 * kind, rows, progress               the contract of a kind
 * store/                             saved generations on disk
 * ```
 */
import type { IndexParameters } from '../../shared/model/indexSpec.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { BuildProgress } from './progress.js';
import type { Rows } from './rows.js';
import type { PayloadPlace } from './store/payloadFile.js';

/** The rows of a build: those of the base, and all that were live when the build began. They are not overwritten. */
export interface BuildRows {
  readonly dimension: number;
  /** Number of ordinals: those of the base first, then the others by slot. */
  readonly count: number;
  /** Returns false for rows of the base that have died. They keep their ordinals and must not be found. */
  isLive(ordinal: number): boolean;
  /** Components of a live row, valid until the next call. */
  components(ordinal: number): Int32Array;
}

/** An earlier payload of the same kind and build parameters, to extend. It has the ordinals below `count`. */
export interface BuildBase extends PayloadPlace {
  readonly count: number;
}

export interface BuildOrder extends PayloadPlace {
  readonly rows: BuildRows;
  readonly parameters: IndexParameters;
  /** Path of the payload file to write. The file does not exist; its folder does. */
  readonly path: string;
  readonly base: BuildBase | undefined;
  /** Progress to advance at least every few milliseconds. That throws after a cancellation. */
  readonly progress: BuildProgress;
  /** Largest size of a graph in bytes, a power of two with room for a node; by default that of a region. */
  readonly graphBytesMax?: number | undefined;
}

/**
 * Builds in a build thread. Random numbers have fixed seeds, so the payload depends on the order alone, unless several
 * threads share the work.
 */
export interface IndexBuilder {
  /**
   * Writes the payload; it need not be durable yet. Returns `leftOut`: ordinals of rows that the index would not find,
   * so that they are searched exactly.
   */
  build(order: BuildOrder): Promise<{ readonly leftOut: readonly number[] }>;
}

export interface OpenOrder extends PayloadPlace {
  readonly vectors: VectorBlocks;
  /** Rows by ordinal. The caller removes those that died since the build, right after opening. */
  readonly rows: Rows;
  readonly parameters: IndexParameters;
  readonly pause: () => Promise<void>;
}

/** An open index. Its methods run in the shard's event loop, and block it for a few milliseconds at most. */
export interface Index {
  /** Bytes of memory, without the vectors. */
  readonly bytes: number;
  /** Number of segments; undefined for a kind without segments. */
  readonly segments?: number;
  /** Number of rows that it can absorb before it must be rebuilt. */
  readonly capacityLeft: number;
  /** Whether `absorb` takes a few milliseconds at most. If not, rows wait for the next build. */
  readonly absorbs: boolean;
  /** Cost of `candidates(k)`, as a number of rows that an exact scan measures in that time. */
  cost(k: number): number;
  /**
   * Adds the row at `slot` under `ordinal`, the next one. Returns false, and adds nothing, if a search would not find
   * the row.
   */
  absorb(ordinal: number, slot: number): boolean;
  /** Removes the row at `slot`, whose vector is about to be overwritten. */
  remove(ordinal: number, slot: number): void;
  /**
   * Returns the slots of rows that may be among the nearest `k`, optionally only those in `eligible`. There may be more
   * than `k`, so that exact distances decide, or fewer. Rows may have died during a pause of the search.
   */
  candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array>;
  /**
   * Returns the nearest `k` of the rows that `candidates` would return, measured exactly, by the search threads of the process
   * if it has some. Undefined if only `candidates` can make this search. Until the result is there, the caller absorbs and removes no
   * row, and reuses no slot.
   */
  search?(query: Int32Array, k: number, eligible: SlotSet | undefined): Hits | Promise<Hits> | undefined;
  /**
   * Writes a payload of all rows that `open` can read. Removed rows may be in it. Until it is written, the caller absorbs
   * and removes no row.
   */
  persist(path: string): Promise<void>;
  /** Frees all memory. Call nothing else afterwards. */
  free(): Promise<void>;
}

export interface IndexOpener {
  /** Opens a payload. Throws an Error with a message of one line if the payload is inconsistent. */
  open(order: OpenOrder): Promise<Index>;
  /** Whether a payload with one of the parameters can be the base of a build with the other. */
  sameBuild(one: IndexParameters, other: IndexParameters): boolean;
}
