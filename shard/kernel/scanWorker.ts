/** A thread that scans blocks of vectors. Started by `scanThreads.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { unreachable } from '../../shared/errors/errors.js';
import type { SharedMemory } from '../../shared/webAssembly.js';
import { BlockTable } from './blockTable.js';
import { type Kernel, openKernel } from './kernel.js';

/** `module`: the compiled kernel. */
export interface ScanWorkerData {
  readonly module: object;
}

/** Arenas have numbers. A thread receives the memory of each arena before its first scan there. */
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
    };

const { module } = workerData as ScanWorkerData;
const kernels = new Map<number, Kernel>();

/** Reports that the thread waits for a scan. */
const report = (): void => parentPort?.postMessage(null);

function follow(order: ScanOrder): void {
  switch (order.op) {
    case 'open':
      kernels.set(order.arena, openKernel(order.memory, module));
      return;
    case 'forget':
      kernels.delete(order.arena);
      return;
    case 'scan': {
      const { table, arenas, scratches, blocks } = order;
      new BlockTable(table).scan(
        arenas.map((arena) => kernels.get(arena)!),
        scratches,
        blocks,
      );
      report();
      return;
    }
    default:
      unreachable(order);
  }
}

// An order that cannot be executed ends the thread. Its scan is repeated.
parentPort?.on('message', follow);
report();
