/** A program whose thread exits when it receives a search. */
export const DYING = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ op }) => op === 'search' && process.exit(1));
    parentPort.postMessage(null);`)}`,
);
