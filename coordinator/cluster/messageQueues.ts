/**
 * Calls that wait to travel, by collection and route. Those of one turn of the event loop travel together.
 *
 *   empty ──call──▶ due ──end of the turn──▶ sent
 *                    └──a message of the queue is unanswered──▶ held ──its answer, or HELD_MS──▶ sent
 *
 * A lone call waits for nobody. While a message is unanswered its shard works on it, so a call that is held would mostly wait
 * there; and a message with its answer takes processor time of every process on the way. Calls that take longer than
 * HELD_MS delay others by no more than that.
 */
import type { Clock } from '../../shared/clock.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { Verb } from '../../shared/transport/subjects.js';
import type { FollowerRoute } from './followerRoutes.js';

/** The longest that a call is held; timers have this grain. */
const HELD_MS = 1;

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

interface Queue<C> extends MessageQueue<C> {
  calls: C[];
  /** Sendings that are not answered. */
  unanswered: number;
  /** When the first of the calls was held; undefined: none is. */
  heldFromMs: number | undefined;
}

export class MessageQueues<C> {
  readonly #queues = new Map<string, Queue<C>>();
  #due = new Set<Queue<C>>();
  readonly #held = new Set<Queue<C>>();
  #flushing = false;
  #timer: NodeJS.Timeout | undefined;

  /** `send` resolves when all calls are answered or have failed; it never rejects. */
  constructor(
    private readonly send: (queue: MessageQueue<C>) => Promise<unknown>,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly metrics: Pick<Metrics, 'count'>,
  ) {}

  push(collectionId: number, route: CallRoute, call: C): void {
    const key = keyOf(collectionId, route);
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = { collectionId, route, calls: [], unanswered: 0, heldFromMs: undefined };
      this.#queues.set(key, queue);
    }
    queue.calls.push(call);
    if (queue.heldFromMs === undefined) this.#makeDue(queue);
  }

  #makeDue(queue: Queue<C>): void {
    this.#due.add(queue);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    const due = this.#due;
    this.#due = new Set();
    // A control call may take minutes.
    for (const queue of due)
      if (queue.unanswered > 0 && queue.route !== 'control') this.#hold(queue);
      else this.#send(queue);
  }

  #hold(queue: Queue<C>): void {
    queue.heldFromMs = this.clock.monotonicMs();
    this.#held.add(queue);
    this.#timer ??= setTimeout(() => this.#release(), HELD_MS);
  }

  /** Sends what was held for long enough. */
  #release(): void {
    const untilMs = this.clock.monotonicMs() - HELD_MS;
    for (const queue of this.#held) if (queue.heldFromMs! <= untilMs) this.#send(queue);
    this.#timer = this.#held.size === 0 ? undefined : setTimeout(() => this.#release(), HELD_MS);
  }

  #send(queue: Queue<C>): void {
    const { collectionId, route, calls, heldFromMs } = queue;
    if (heldFromMs !== undefined) {
      this.#held.delete(queue);
      this.metrics.count('vouch_calls_held_total', calls.length);
      this.metrics.count('vouch_calls_held_seconds_total', (this.clock.monotonicMs() - heldFromMs) / 1000);
      queue.heldFromMs = undefined;
    }
    queue.calls = [];
    queue.unanswered += 1;
    void this.send({ collectionId, route, calls }).then(() => this.#answered(queue));
  }

  #answered(queue: Queue<C>): void {
    queue.unanswered -= 1;
    if (queue.unanswered > 0) return;
    if (queue.calls.length === 0) this.#queues.delete(keyOf(queue.collectionId, queue.route));
    else this.#makeDue(queue);
  }
}
