import type { Arena } from './arena.js';
import type { BlockTable } from './blockTable.js';

/** Memory that one thread writes: a scratch in each arena of the scan. */
export interface Share {
  readonly addresses: readonly number[];
}

/** A scan that several threads share. They take its blocks one by one; each thread has its own share. */
export interface PartedScan<Result> {
  readonly arenas: readonly Arena[];
  readonly table: BlockTable;
  /** Cost of an ordinary block, in bytes of vectors that are measured in that time. */
  readonly blockCostBytes: number;
  /** Threads that work on the scan now. */
  readonly working: number;
  /** Whether another thread could take blocks. */
  readonly hasRoom: boolean;
  readonly isOver: boolean;
  /** Whether a thread died with blocks, so that the scan has no result. */
  readonly hasFailed: boolean;
  /** Takes an unused share; undefined if the arenas have no room for another one. */
  enter(): Share | undefined;
  leave(share: Share): void;
  /** Cancels the scan, because blocks that were taken have not been scanned. */
  fail(): void;
  /** Result of all threads, once the scan is over and has not failed. */
  result(): Result;
  /** Frees the shares, once no thread works on the scan. */
  free(): void;
}

/** A scan that can be split into parts. */
export interface PartableScan<Result> {
  /** Cost of the whole scan, as bytes of vectors that are measured in that time. */
  readonly costBytes: number;
  /** Throws `unavailable` and `capacity_exceeded` if there is not enough memory. */
  parted(): PartedScan<Result>;
}
