/** The messages between the process and its search threads. */
import type { SharedMemory } from '../../shared/webAssembly.js';

/** `module`: the compiled kernel. */
export interface ScanWorkerData {
  readonly module: object;
}

/** A part of an arena that is lent to a thread until it answers. */
export interface Loan {
  readonly arena: number;
  readonly address: number;
  readonly sizeBytes: number;
}

/** Arenas have numbers. A thread receives the memory of each arena before its first work there. */
export type ScanOrder =
  | { readonly op: 'open'; readonly arena: number; readonly memory: SharedMemory }
  | { readonly op: 'forget'; readonly arena: number }
  | {
      readonly op: 'scan';
      readonly table: SharedArrayBuffer;
      /** Arenas of the scan, and this thread's scratch in each, until it answers. */
      readonly arenas: readonly number[];
      readonly scratches: readonly number[];
      /** Largest number of blocks to scan. */
      readonly blocks: number;
    }
  | { readonly op: 'search'; readonly loans: readonly Loan[]; readonly work: unknown };
