/** The program of a build thread, which executes one job at a time. `jobThread.ts` starts it. */
import { parentPort } from 'node:worker_threads';
import { giveWay } from '../../../shared/process/workerThread.js';
import { BuildProgress, buildOutcomes } from '../progress.js';
import { completeGeneration, type SavedGeneration, verifyFiles } from '../store/generationFiles.js';
import type { GenerationFacts } from '../store/manifest.js';
import type { RowsToSave } from '../store/rowsFile.js';
import { buildGeneration, type GenerationOrder } from './buildGeneration.js';

export type BuildJob =
  | { readonly op: 'build'; readonly order: GenerationOrder }
  | { readonly op: 'verify'; readonly saved: SavedGeneration }
  | { readonly op: 'complete'; readonly facts: GenerationFacts; readonly folder: string; readonly rows: RowsToSave };

export interface JobMessage {
  readonly job: BuildJob;
  /** Memory of a `BuildProgress`. */
  readonly progress: SharedArrayBuffer;
}

async function carryOut(job: BuildJob, progress: BuildProgress): Promise<SavedGeneration> {
  const check = (): void => progress.obey();
  if (job.op === 'build') return buildGeneration(job.order, progress);
  if (job.op === 'complete') return completeGeneration(job.folder, job, check);
  await verifyFiles(job.saved, check);
  return job.saved;
}

giveWay();
parentPort?.on('message', async ({ job, progress }: JobMessage) => {
  parentPort?.postMessage(await buildOutcomes.pack(() => carryOut(job, new BuildProgress(progress))));
});
