/**
 * Calls that wait to travel, by collection and route. Those of one turn of the event loop travel together, and so do those that come
 * while three messages of the queue are not answered yet: two let the shard work while a third is on its way, and more messages would
 * cost more than they bring. A fourth is sent after two milliseconds all the same, so that no call waits long for slow ones.
 */
import type { Verb } from '../../../shared/transport/subjects.js';
import type { FollowerRoute } from './followerRoutes.js';

/** Messages of a queue that are not answered, from which on its calls are held. */
const UNANSWERED_MAX = 3;
/** How long a call is held at most, but for the time that its turn takes. */
const HELD_MS = 2;

/** A call goes to the owner under its verb, or to a follower. */
export type CallRoute = Verb | FollowerRoute;

const keyOf = (collectionId: number, route: CallRoute): string =>
  typeof route === 'string' ? `${collectionId}.${route}` : route.subject;

export interface Way {
  readonly collectionId: number;
  readonly route: CallRoute;
}

/** The calls of one collection and route that are not sent. */
export interface MessageQueue<C> extends Way {
  readonly calls: readonly C[];
}

type Queues<C> = Map<string, MessageQueue<C> & { readonly calls: C[] }>;

export class MessageQueues<C> {
  /** Of this turn. */
  #queues: Queues<C> = new Map();
  #held: Queues<C> = new Map();
  #holding: NodeJS.Timeout | undefined;
  /** Of each queue that has any. */
  readonly #unanswered = new Map<string, number>();

  /** `send`: resolves when all that was sent is answered; never rejects. */
  constructor(private readonly send: (queue: MessageQueue<C>) => Promise<unknown>) {}

  push(collectionId: number, route: CallRoute, call: C): void {
    const key = keyOf(collectionId, route);
    const held = this.#held.get(key);
    if (held !== undefined) {
      held.calls.push(call);
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
    for (const [key, queue] of queues)
      if ((this.#unanswered.get(key) ?? 0) < UNANSWERED_MAX) void this.#sendNow(key, queue);
      else this.#hold(key, queue);
  }

  #hold(key: string, queue: MessageQueue<C> & { readonly calls: C[] }): void {
    const held = this.#held.get(key);
    if (held === undefined) this.#held.set(key, queue);
    else held.calls.push(...queue.calls);
    this.#holding ??= setTimeout(() => this.#sendHeld(), HELD_MS);
  }

  #sendHeld(): void {
    this.#holding = undefined;
    const held = this.#held;
    this.#held = new Map();
    for (const [key, queue] of held) void this.#sendNow(key, queue);
  }

  async #sendNow(key: string, queue: MessageQueue<C>): Promise<void> {
    this.#unanswered.set(key, (this.#unanswered.get(key) ?? 0) + 1);
    await this.send(queue);
    const left = this.#unanswered.get(key)! - 1;
    if (left > 0) this.#unanswered.set(key, left);
    else this.#unanswered.delete(key);
    const held = this.#held.get(key);
    if (held === undefined) return;
    this.#held.delete(key);
    void this.#sendNow(key, held);
  }
}
