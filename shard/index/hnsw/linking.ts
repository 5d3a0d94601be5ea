/** Links the nodes of a graph in several threads, which work on the same memory. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SharedMemory } from '../../../shared/webAssembly.js';
import { kernelModule, openKernel } from '../../kernel/kernel.js';
import { type BuildProgress, Cancelled } from '../progress.js';
import type { GraphMemory } from './graphMemory.js';
import { type LinkStage, type LinkWorkerData, linkAll, stepNodes } from './linkTurns.js';

const PROGRAM = new URL('./linkWorker.js', import.meta.url);
const THREADS_MAX = 8;
/** Nodes per thread. A thread takes about 100 ms to start, in which another links a few hundred nodes. */
const NODES_PER_THREAD = 4096;
/** Vectors are outside the heap. */
const WORKER_HEAP_MB = 64;

/** Returns the number of threads that link a number of nodes, including this one. */
export const linkThreads = (nodes: number): number =>
  Math.max(1, Math.min(THREADS_MAX, availableParallelism(), Math.floor(nodes / NODES_PER_THREAD)));

/**
 * Links all nodes that are not linked yet, with one thread for each address in `walks`, where its scratch is. Throws
 * Cancelled. When this settles, the other threads have ended.
 */
export async function linkNodes(
  memory: SharedMemory,
  graph: GraphMemory,
  walks: readonly number[],
  progress: BuildProgress,
): Promise<void> {
  const kernel = openKernel(memory);
  const [own, ...others] = walks as [number, ...number[]];
  // Link the first node alone: in an empty graph, the other threads would find no node to link to.
  progress.advance(kernel.linkNodes(graph.address, own, 1));
  const steps = { graph: graph.address, stepNodes: stepNodes(graph.shape) };
  const ends = others.map((walk) =>
    ended({ memory, module: kernelModule(), ...steps, walk, progress: progress.memory }),
  );
  try {
    linkAll(kernel, { ...steps, walk: own }, progress);
  } finally {
    await Promise.allSettled(ends);
  }
  await Promise.all(ends);
}

/**
 * Starts a thread, and settles when it has ended. Rejects if it failed or was cancelled after it had begun. A thread that
 * cannot begin is not missed: others link its nodes.
 */
function ended(workerData: LinkWorkerData): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(PROGRAM, { workerData, resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB } });
    let failure: Error | undefined;
    worker.on('message', (stage: LinkStage) => {
      failure = stage === 'begun' ? new Cancelled() : undefined;
    });
    worker.on('error', (error) => {
      if (failure !== undefined) failure = error;
    });
    worker.on('exit', () => (failure === undefined ? resolve() : reject(failure)));
  });
}
