/**
 * Queues of calls that wait to travel, one for each collection and route. Calls of one turn of the event loop travel together.
 *
 * Many are divided into two messages, so that the shard works on one while the other is on its way.
 *
 * While three messages of a queue are unanswered, further calls are collected for the next one. Two messages keep the shard busy, and
 * one is on its way. The next message leaves after two milliseconds at the latest, so that no call waits long for slow ones.
 */
import type { Verb } from '../../../shared/transport/subjects.js';
import type { FollowerRoute } from './followerRoutes.js';

/** Number of unanswered messages of a queue at which its further calls are collected, by default. */
const UNANSWERED_MAX = 3;
/** Longest time for which calls are collected, after the end of their turn. */
const COLLECT_MS = 2;
/** Messages of the calls of one turn, if no message of the queue is unanswered; and fewest calls of each. */
const PARTS_MAX = 2;
const PART_MIN = 8;

/** A call goes to the owner under its verb, or to a follower. */
export type CallRoute = Verb | FollowerRoute;

const keyOf = (collectionId: number, route: CallRoute): string =>
  typeof route === 'string' ? `${collectionId}.${route}` : route.subject;

export interface Way {
  readonly collectionId: number;
  readonly route: CallRoute;
}

/** Calls of one collection and route that wait to be sent. */
export interface MessageQueue<C> extends Way {
  readonly calls: readonly C[];
}

/** Divides a queue into up to `most` messages of equal length, none of them shorter than PART_MIN. */
function* partsOf<C>(queue: MessageQueue<C>, most: number): Generator<MessageQueue<C>> {
  const { calls } = queue;
  const parts = Math.max(1, Math.min(most, Math.floor(calls.length / PART_MIN)));
  const each = Math.ceil(calls.length / parts);
  for (let first = 0; first < calls.length; first += each) yield { ...queue, calls: calls.slice(first, first + each) };
}

type Queues<C> = Map<string, MessageQueue<C> & { readonly calls: C[] }>;

export class MessageQueues<C> {
  /** Calls of the current turn. */
  #queues: Queues<C> = new Map();
  /** Calls that wait until a message of their queue is answered, or until the timer fires. */
  #collected: Queues<C> = new Map();
  #timer: NodeJS.Timeout | undefined;
  /** Queue → its unanswered messages, at least one. */
  readonly #unanswered = new Map<string, number>();

  /** `send` resolves when all calls of the message are answered; it never rejects. `unansweredMax`: see UNANSWERED_MAX. */
  constructor(
    private readonly send: (queue: MessageQueue<C>) => Promise<unknown>,
    private readonly unansweredMax = UNANSWERED_MAX,
  ) {}

  push(collectionId: number, route: CallRoute, call: C): void {
    const key = keyOf(collectionId, route);
    const collected = this.#collected.get(key);
    if (collected !== undefined) {
      collected.calls.push(call);
      return;
    }
    if (this.#queues.size === 0) setImmediate(() => this.#flush());
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, { collectionId, route, calls: [call] });
    else queue.calls.push(call);
  }

  #flush(): void {
    const queues = this.#queues;
    this.#queues = new Map();
    for (const [key, queue] of queues) {
      const unanswered = this.#unanswered.get(key) ?? 0;
      if (unanswered >= this.unansweredMax) this.#collect(key, queue);
      else for (const part of partsOf(queue, this.#partsMax(unanswered))) void this.#sendNow(key, part);
    }
  }

  #partsMax(unanswered: number): number {
    return unanswered === 0 ? Math.min(PARTS_MAX, this.unansweredMax) : 1;
  }

  #collect(key: string, queue: MessageQueue<C> & { readonly calls: C[] }): void {
    const collected = this.#collected.get(key);
    if (collected === undefined) this.#collected.set(key, queue);
    else collected.calls.push(...queue.calls);
    this.#timer ??= setTimeout(() => this.#sendCollected(), COLLECT_MS);
  }

  #sendCollected(): void {
    this.#timer = undefined;
    const collected = this.#collected;
    this.#collected = new Map();
    for (const [key, queue] of collected) void this.#sendNow(key, queue);
  }

  async #sendNow(key: string, queue: MessageQueue<C>): Promise<void> {
    this.#unanswered.set(key, (this.#unanswered.get(key) ?? 0) + 1);
    await this.send(queue);
    const left = this.#unanswered.get(key)! - 1;
    if (left > 0) this.#unanswered.set(key, left);
    else this.#unanswered.delete(key);
    const collected = this.#collected.get(key);
    if (collected === undefined) return;
    this.#collected.delete(key);
    void this.#sendNow(key, collected);
  }
}
