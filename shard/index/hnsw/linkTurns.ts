import type { SharedMemory } from '../../../shared/webAssembly.js';
import type { Kernel } from '../../kernel/kernel.js';
import type { BuildProgress } from '../progress.js';
import { type LinksShape, linkBytes } from './graphMemory.js';

/** The most nodes of a step, and the bytes that it reads: some milliseconds. */
const STEP_NODES = 16;
const STEP_BYTES = 64 << 20;

/** Returns the number of nodes that a thread links in a step, after which it may pause. */
export const stepNodes = (shape: LinksShape): number =>
  Math.max(1, Math.min(STEP_NODES, Math.floor(STEP_BYTES / linkBytes(shape))));

/** The messages of a thread that links. */
export type LinkStage = 'begun' | 'linked';

/** The data that a thread needs to link. */
export interface LinkWorkerData {
  readonly memory: SharedMemory;
  /** The compiled kernel. */
  readonly module: object;
  /** Addresses. */
  readonly graph: number;
  readonly walk: number;
  readonly stepNodes: number;
  /** The memory of a `BuildProgress`. */
  readonly progress: SharedArrayBuffer;
}

/** Links nodes until there are no more, and counts them. Throws Cancelled. */
export function linkAll(
  kernel: Kernel,
  { graph, walk, stepNodes }: Pick<LinkWorkerData, 'graph' | 'walk' | 'stepNodes'>,
  progress: BuildProgress,
): void {
  for (let linked = stepNodes; linked === stepNodes; progress.advance(linked))
    linked = kernel.linkNodes(graph, walk, stepNodes);
}
