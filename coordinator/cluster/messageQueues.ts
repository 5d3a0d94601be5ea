/**
 * Calls that wait to travel, by collection and route. Those of one turn of the event loop travel together.
 *
 * None waits for the answer of an earlier message: that saves messages, but leaves the shard idle between them: 20 to 32% more
 * time for searches of 10,000 records at 4 to 32 in flight; of 100 records now more, now less.
 */
import type { Verb } from '../../shared/transport/subjects.js';
import type { FollowerRoute } from './followerRoutes.js';

/** A call goes to the owner under its verb, or to a follower. */
export type CallRoute = Verb | FollowerRoute;

const keyOf = (collectionId: number, route: CallRoute): string =>
  typeof route === 'string' ? `${collectionId}.${route}` : route.subject;

/** The calls of one collection and route that are not sent. */
export interface MessageQueue<C> {
  readonly collectionId: number;
  readonly route: CallRoute;
  readonly calls: readonly C[];
}

export class MessageQueues<C> {
  #queues = new Map<string, MessageQueue<C> & { readonly calls: C[] }>();

  constructor(private readonly send: (queue: MessageQueue<C>) => void) {}

  push(collectionId: number, route: CallRoute, call: C): void {
    if (this.#queues.size === 0) setImmediate(() => this.#flush());
    const key = keyOf(collectionId, route);
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, { collectionId, route, calls: [call] });
    else queue.calls.push(call);
  }

  #flush(): void {
    const queues = this.#queues;
    this.#queues = new Map();
    for (const queue of queues.values()) this.send(queue);
  }
}
