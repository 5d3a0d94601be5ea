import type { SharedMemory } from '../../../shared/webAssembly.js';
import type { Kernel } from '../../kernel/kernel.js';
import type { BuildProgress } from '../progress.js';

/** Nodes between two looks at whether the build is wanted: some milliseconds. */
const NODES_AT_ONCE = 16;

/** What a thread tells that links. */
export type LinkStage = 'begun' | 'linked';

/** What a thread needs that links. */
export interface LinkWorkerData {
  readonly memory: SharedMemory;
  /** The compiled kernel. */
  readonly module: object;
  /** Addresses. */
  readonly graph: number;
  readonly walk: number;
  /** The memory of a `BuildProgress`. */
  readonly progress: SharedArrayBuffer;
}

/** Links nodes until there are no more, and counts them. Throws Cancelled. */
export function linkAll(kernel: Kernel, graph: number, walk: number, progress: BuildProgress): void {
  for (let linked = NODES_AT_ONCE; linked === NODES_AT_ONCE; progress.advance(linked))
    linked = kernel.linkNodes(graph, walk, NODES_AT_ONCE);
}
