/** The thread that reads and completes the files of generations that were built elsewhere. Started by `buildThread.ts`. */
import { completeGeneration, type SavedGeneration, verifyFiles } from '../store/generationFiles.js';
import type { RowsToSave } from '../store/rowsFile.js';
import type { GenerationFacts } from './order.js';
import { Progress } from './progress.js';
import { serveOrders } from './serveOrders.js';

export type FilesJob = {
  /** Of a `Progress`. */
  readonly progress: SharedArrayBuffer;
} & (
  | { readonly op: 'verify'; readonly saved: SavedGeneration }
  | { readonly op: 'seal'; readonly facts: GenerationFacts; readonly folder: string; readonly rows: RowsToSave }
);

serveOrders<FilesJob, SavedGeneration>(async (job) => {
  const progress = new Progress(job.progress);
  const check = (): void => progress.assertWanted();
  if (job.op === 'seal') return completeGeneration(job.folder, job.facts, job.rows, check);
  await verifyFiles(job.saved, check);
  return job.saved;
});
