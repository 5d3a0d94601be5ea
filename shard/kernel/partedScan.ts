import type { Arena } from './arena.js';
import type { BlockTable } from './blockTable.js';

/** What one thread writes at a time: a scratch in each arena of the scan. */
export interface Share {
  readonly addresses: readonly number[];
}

/** A scan whose blocks several threads take one by one, each with a share of its own. */
export interface PartedScan<Result> {
  readonly arenas: readonly Arena[];
  readonly table: BlockTable;
  /** Of an ordinary block, in bytes of vectors that are measured as fast. */
  readonly blockCostBytes: number;
  /** Threads that are at it now. */
  readonly working: number;
  /** Whether another thread could take blocks. */
  readonly hasRoom: boolean;
  readonly isOver: boolean;
  /** Whether blocks were lost with a thread, so that there is no result. */
  readonly hasFailed: boolean;
  /** A share that nobody works on; undefined where the arenas have no room for another one. */
  enter(): Share | undefined;
  leave(share: Share): void;
  /** Gives the scan up, because blocks that were taken have not been scanned. */
  fail(): void;
  /** What all threads found, once the scan is over and has not failed. */
  result(): Result;
  /** When nobody works on it any more. */
  free(): void;
}

/** A scan that can be done in parts. */
export interface PartableScan<Result> {
  /** About the bytes of vectors that are measured in the time that the whole scan takes. */
  readonly costBytes: number;
  /** Throws `unavailable` and `capacity_exceeded` where there is no memory for it. */
  parted(): PartedScan<Result>;
}
