/** What the owner of a collection asks of a build thread. Everything here can be passed between threads. */
import type { IndexKind, IndexParameters } from '../../../shared/indexSpec.js';

/** One block of vectors as it is at the moment of the order, in memory that the thread shares. */
export interface FrozenBlock {
  readonly buffer: SharedArrayBuffer;
  readonly firstSlot: number;
  readonly rows: number;
  readonly vectorsAddress: number;
  readonly idsAddress: number;
  /** A copy of the bitmap of live rows. */
  readonly live: Uint32Array;
}

/** What the manifest of a generation says besides its files. */
export interface GenerationFacts {
  readonly collectionId: number;
  /** Of the collection's genesis, so that the generation of another collection is never taken for this one's. */
  readonly createdAtMs: number;
  readonly dimension: number;
  readonly number: number;
  readonly kind: IndexKind;
  readonly parameters: IndexParameters;
  /** Committed events it covers. */
  readonly sequence: number;
  /** Live rows when its kind was last trained from scratch, which a base was not. */
  readonly trainedRows: number;
}

export interface GenerationOrder {
  readonly facts: GenerationFacts;
  readonly strideBytes: number;
  readonly blocks: readonly FrozenBlock[];
  /** The generation's folder, not there yet. */
  readonly folder: string;
  /** Folder of a complete generation with the same build parameters, to start from. */
  readonly baseFolder: string | undefined;
}
