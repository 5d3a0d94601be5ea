/** The steps in which nodes are linked: so short that a build obeys a pause or a cancellation within milliseconds. */
import type { SharedMemory } from '../../../shared/webAssembly.js';
import type { Kernel } from '../../kernel/kernel.js';
import type { BuildProgress } from '../progress.js';
import { type LinksShape, linkBytes } from './graphMemory.js';

/** Largest number of nodes of a step, and of bytes that it reads: some milliseconds. */
const STEP_NODES = 16;
const STEP_BYTES = 64 << 20;

/** Returns the number of nodes that a thread links in a step. */
export const stepNodes = (shape: LinksShape): number =>
  Math.max(1, Math.min(STEP_NODES, Math.floor(STEP_BYTES / linkBytes(shape))));

/** Messages of a thread that links nodes. */
export type LinkStage = 'begun' | 'linked';

/** Data of a thread that links nodes. */
export interface LinkWorkerData {
  readonly memory: SharedMemory;
  /** Compiled kernel. */
  readonly module: object;
  /** Address of the graph. */
  readonly graph: number;
  /** Address of the thread's scratch. */
  readonly walk: number;
  readonly stepNodes: number;
  /** Memory of a `BuildProgress`. */
  readonly progress: SharedArrayBuffer;
}

/** Links nodes and advances `progress`, until no node is left. Throws Cancelled. */
export function linkAll(
  kernel: Kernel,
  { graph, walk, stepNodes }: Pick<LinkWorkerData, 'graph' | 'walk' | 'stepNodes'>,
  progress: BuildProgress,
): void {
  for (let linked = stepNodes; linked === stepNodes; progress.advance(linked))
    linked = kernel.linkNodes(graph, walk, stepNodes);
}
