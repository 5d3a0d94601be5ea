/** The thread that builds generations. Started by `buildThread.ts`. */
import type { SavedGeneration } from '../store/generationFiles.js';
import { buildGeneration } from './buildGeneration.js';
import type { GenerationOrder } from './order.js';
import { Progress } from './progress.js';
import { serveOrders } from './serveOrders.js';

export interface BuildJob {
  readonly order: GenerationOrder;
  /** Of a `Progress`. */
  readonly progress: SharedArrayBuffer;
}

serveOrders<BuildJob, SavedGeneration>(({ order, progress }) => buildGeneration(order, new Progress(progress)));
