/** The program of a thread that links nodes beside the build thread. `linking.ts` starts it. */
import { parentPort, workerData } from 'node:worker_threads';
import { giveWay } from '../../../shared/process/workerThread.js';
import { openKernel } from '../../kernel/kernel.js';
import { BuildProgress, Cancelled } from '../progress.js';
import { type LinkStage, type LinkWorkerData, linkAll } from './linkTurns.js';

const data = workerData as LinkWorkerData;

const report = (stage: LinkStage): void => parentPort?.postMessage(stage);

giveWay({ isHelper: true });
const kernel = openKernel(data.memory, data.module);
report('begun');
try {
  linkAll(kernel, data, new BuildProgress(data.progress));
  report('linked');
} catch (error) {
  if (!(error instanceof Cancelled)) throw error;
}
