/** The thread of past states, which dies of a search with one particular k. */
import { parentPort } from 'node:worker_threads';
import type { ToWorker } from '../../../shard/asOf/messages.js';
import '../../../shard/asOf/asOfWorker.js';

const DIES_AT_K = 4_444;

parentPort?.on('message', (message: ToWorker) => {
  if (message.op === 'search' && message.options.k === DIES_AT_K) process.exit(1);
});
