/** The entry point of the thread of past states, which `asOfThread.ts` starts. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../shared/clock.js';
import { giveWay } from '../../shared/process/workerThread.js';
import type { CallCount } from '../../shared/scheduling/checkPace.js';

import { VectorMemory } from '../kernel/vectorMemory.js';
import { AsOfServer } from './asOfServer.js';
import type { ToWorker } from './messages.js';

export interface AsOfWorkerData {
  /** Largest number of bytes of the states that are kept. */
  readonly cacheBytesMax: number;
  /** Largest number of bytes of the vectors of all states together; undefined for no bound. */
  readonly vectorBytesMax: number | undefined;
  /** Count of the shard's calls. */
  readonly calls: CallCount;
}

const port = parentPort!;
const { cacheBytesMax, vectorBytesMax, calls } = workerData as AsOfWorkerData;
const memory = new VectorMemory(vectorBytesMax === undefined ? {} : { boundBytes: vectorBytesMax });
const server = new AsOfServer({ boundBytes: cacheBytesMax, memory, clock: systemClock, calls }, (message, transfer) =>
  port.postMessage(message, transfer),
);
giveWay();
port.on('message', (message: ToWorker) => server.take(message));
