/** The thread of past states. Started by `pastThread.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../shared/clock.js';
import { giveWay } from '../index/build/serveOrders.js';
import { VectorMemory } from '../kernel/vectorMemory.js';
import { FolderSnapshots } from '../snapshot/folderSnapshots.js';
import type { CallCount } from './checkPace.js';
import type { ToWorker } from './messages.js';
import { PastServer } from './pastServer.js';

export interface PastWorkerData {
  /** Of the states that are kept. */
  readonly boundBytes: number;
  /** Of the vectors of all states there are at once; undefined: as much as the system has. */
  readonly memoryBytes: number | undefined;
  /** Of the shard. */
  readonly calls: CallCount;
}

const snapshots = new FolderSnapshots();
const port = parentPort!;
const { boundBytes, memoryBytes, calls } = workerData as PastWorkerData;
const memory = new VectorMemory(memoryBytes === undefined ? {} : { boundBytes: memoryBytes });
const server = new PastServer({ boundBytes, memory, clock: systemClock, snapshots, calls }, (message) =>
  port.postMessage(message),
);
giveWay();
port.on('message', (message: ToWorker) => server.take(message));
