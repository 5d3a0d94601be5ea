/** The worker's side of a `WorkerLane`. */
import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { outcomeOf } from './outcome.js';

/** Where threads have priorities of their own, the ones that answer requests go before this one. */
export function giveWay(): void {
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}

/** Carries out the orders that come, one at a time. */
export function serveOrders<Order, Answer>(carryOut: (order: Order) => Promise<Answer>): void {
  giveWay();
  parentPort?.on('message', async (order: Order) => {
    parentPort?.postMessage(await outcomeOf(() => carryOut(order)));
  });
}
