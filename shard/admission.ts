/**
 * What a shard takes on at once, and in what turn.
 *
 * Reads that keep the event loop busy (searches, walks through the graph) run a few at a time: in the order they came
 * within a collection, and in turn between collections, so that each of n busy collections has an n-th of the shard,
 * however much it is asked. All else, which takes microseconds or waits for something, is bounded in number alone.
 */
import type { ReadCall } from '../shared/calls.js';
import type { Clock } from '../shared/clock.js';
import { FairQueue } from '../shared/fairQueue.js';
import { type Overloaded, overloaded, type RefusalReason } from '../shared/overloaded.js';
import { failure, type Outcome } from '../shared/wire.js';

/** Calls, and bytes of the messages they came in, that are under way at once. */
const CALLS_MAX = 16_384;
const BYTES_MAX = 512 * 1024 * 1024;
/** Reads at work at once: a slice of each, 1 to 2 ms, is one turn of the event loop. */
const RUNNING_MAX = 16;
/** Of one collection, where no other is busy: what is short need not wait for what is long. */
const RUNNING_ALONE = 4;
/** For so long reads that are done at once are begun in one turn of the event loop, at least and at most. */
const TURN_MS = 4;
const LONG_TURN_MS = 12;

interface Waiting {
  readonly collectionId: number;
  readonly begin: () => void;
  readonly refuse: (error: Overloaded) => void;
}

export class Admission {
  readonly #queue: FairQueue<number, Waiting>;
  /** Reads at work, by collection. */
  readonly #running = new Map<number, number>();
  #runningAll = 0;
  #calls = 0;
  #bytes = 0;
  #turnStartedMs = 0;
  #turnMs = TURN_MS;
  #resting = false;

  /** `queueMs`: the longest that a read, or the oldest write, waits for its turn. */
  constructor(
    readonly queueMs: number,
    private readonly clock: Clock,
    private readonly onRefused: (reason: RefusalReason) => void,
  ) {
    this.#queue = new FairQueue(queueMs, clock);
  }

  get readsWaiting(): number {
    return this.#queue.length;
  }

  get calls(): number {
    return this.#calls;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The outcomes of the calls of one message of `sizeBytes`; all are refused where the shard is full. `urgent`: what keeps
   * the cluster together never is.
   */
  async all<S>(
    { sizeBytes, urgent }: { readonly sizeBytes: number; readonly urgent: boolean },
    calls: readonly S[],
    outcome: (call: S) => Promise<Outcome>,
  ): Promise<Outcome[]> {
    if (!urgent && (this.#calls + calls.length > CALLS_MAX || this.#bytes + sizeBytes > BYTES_MAX))
      return calls.map(() => failure(this.refusal('calls')));
    this.#calls += calls.length;
    this.#bytes += sizeBytes;
    try {
      return await Promise.all(calls.map(outcome));
    } finally {
      this.#calls -= calls.length;
      this.#bytes -= sizeBytes;
    }
  }

  /** Runs the read, in its turn where it is one of those that take turns. Throws Overloaded. */
  read<T>(collectionId: number, call: ReadCall, work: () => Promise<T>): Promise<T> {
    return takesTurns(call) ? this.#inTurn(collectionId, work) : work();
  }

  /** For what is refused elsewhere in the shard: counted here. */
  refusal(reason: RefusalReason): Overloaded {
    this.onRefused(reason);
    return overloaded(reason);
  }

  async #inTurn<T>(collectionId: number, work: () => Promise<T>): Promise<T> {
    if (this.#queue.length === 0 && this.#hasPlace(collectionId)) this.#enter(collectionId);
    else await this.#turn(collectionId);
    try {
      return await work();
    } finally {
      this.#leave(collectionId);
    }
  }

  #hasPlace(collectionId: number): boolean {
    if (this.#runningAll >= RUNNING_MAX) return false;
    const own = this.#running.get(collectionId) ?? 0;
    return own === 0 || own < Math.floor(RUNNING_ALONE / this.#running.size);
  }

  #enter(collectionId: number): void {
    this.#running.set(collectionId, (this.#running.get(collectionId) ?? 0) + 1);
    this.#runningAll++;
  }

  /** Resolves when the read has a place. */
  #turn(collectionId: number): Promise<void> {
    const atWork = this.#running.get(collectionId) ?? 0;
    if (!this.#queue.admits(collectionId, atWork)) throw this.refusal('read_queue');
    if (this.#queue.length === 0) this.#turnStartedMs = this.clock.monotonicMs();
    return new Promise((begin, refuse) => {
      this.#queue.push(collectionId, { collectionId, begin, refuse }, 1, atWork);
      // Others may wait only because of what they wait for themselves.
      if (this.#hasPlace(collectionId)) this.#beginNext();
    });
  }

  #leave(collectionId: number): void {
    const left = (this.#running.get(collectionId) as number) - 1;
    if (left === 0) this.#running.delete(collectionId);
    else this.#running.set(collectionId, left);
    this.#runningAll--;
    if (this.#queue.length > 0) this.#beginNext();
  }

  #beginNext(): void {
    if (this.#resting) return;
    if (this.clock.monotonicMs() - this.#turnStartedMs > this.#turnMs) {
      this.#rest();
      return;
    }
    while (this.#runningAll < RUNNING_MAX) {
      const next = this.#queue.take(
        (collectionId) => this.#hasPlace(collectionId),
        ({ refuse }) => refuse(this.refusal('read_waited')),
      );
      if (next === undefined) return;
      this.#enter(next.collectionId);
      next.begin();
    }
  }

  /**
   * Lets in what has come meanwhile: heartbeats, commits, and what is refused at once. Reads go on for as long as that
   * took, within bounds: else commits, which take no turns, could leave them next to nothing.
   */
  #rest(): void {
    this.#resting = true;
    const endedMs = this.clock.monotonicMs();
    setImmediate(() => {
      this.#resting = false;
      this.#turnStartedMs = this.clock.monotonicMs();
      this.#turnMs = Math.min(Math.max(this.#turnStartedMs - endedMs, TURN_MS), LONG_TURN_MS);
      this.#beginNext();
    });
  }
}

/** Past states are searched in a thread of their own, behind a queue of their own. */
function takesTurns(call: ReadCall): boolean {
  switch (call.op) {
    case 'search':
      return call.asOf === undefined;
    case 'graphNodes':
    case 'graphEdges':
    case 'graphSubgraph':
    case 'graphQuery':
      return true;
    default:
      return false;
  }
}
