/** Program of a thread that scans blocks of vectors and searches indexes. `kernel/scanThreads.ts` starts it. */
import { parentPort, workerData } from 'node:worker_threads';
import { unreachable } from '../../shared/errors/errors.js';
import type { SharedMemory } from '../../shared/webAssembly.js';
import { BlockTable } from '../kernel/blockTable.js';
import { type Kernel, openKernel } from '../kernel/kernel.js';
import { LentArena } from '../kernel/lentArena.js';
import type { ScanOrder, ScanWorkerData } from '../kernel/scanOrder.js';
import { type IndexWork, searchIndex } from './indexWork.js';

const { module } = workerData as ScanWorkerData;
const arenas = new Map<number, { readonly kernel: Kernel; readonly memory: SharedMemory }>();

/** Reports that the thread is idle, with the results of its last work, if any. */
const report = (results: unknown = null): void => parentPort?.postMessage(results);

function follow(order: ScanOrder): void {
  switch (order.op) {
    case 'open':
      arenas.set(order.arena, { kernel: openKernel(order.memory, module), memory: order.memory });
      return;
    case 'forget':
      arenas.delete(order.arena);
      return;
    case 'scan': {
      const { table, scratches, blocks } = order;
      const kernels = order.arenas.map((arena) => arenas.get(arena)!.kernel);
      new BlockTable(table).scan(kernels, scratches, blocks);
      report();
      return;
    }
    case 'search': {
      const lent = order.loans.map(({ arena, address, sizeBytes }) => {
        const { kernel, memory } = arenas.get(arena)!;
        return new LentArena(kernel, memory.buffer, address, sizeBytes);
      });
      report(searchIndex(lent, order.work as IndexWork));
      return;
    }
    default:
      unreachable(order);
  }
}

// An order that fails ends the thread. The event loop then repeats the work.
parentPort?.on('message', follow);
report();
