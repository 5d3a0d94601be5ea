/** A thread that reads snapshots. Started by `readThreads.ts`. */
import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../shared/errors/errors.js';
import { DamagedSnapshot } from './format.js';
import { carryOut, type ReadJob, type ReadResults, transferable } from './readJob.js';

export interface ReadOrder {
  readonly number: number;
  readonly job: ReadJob;
}

export type ReadOutcome = { readonly number: number } & (
  | { readonly answer: ReadResults[ReadJob['op']] }
  | { readonly failure: string; readonly isDamage: boolean }
);

const noPause = async (): Promise<void> => {};

parentPort?.on('message', async ({ number, job }: ReadOrder) => {
  try {
    const answer = await carryOut(job, noPause);
    parentPort?.postMessage({ number, answer } satisfies ReadOutcome, transferable(answer));
  } catch (error) {
    const isDamage = error instanceof DamagedSnapshot;
    parentPort?.postMessage({ number, failure: messageOf(error), isDamage } satisfies ReadOutcome);
  }
});
