/**
 * Admits calls to a shard: how many at once, and in which order its reads run.
 *
 * Some reads keep the event loop busy: searches, counts and pages of records, walks through the graph, pages of a
 * timeline, receipts of the past. A few of them run at a time. They run in order of arrival within a collection. The
 * collections of a project take turns, and so do projects. So each of n busy projects has an n-th of the shard,
 * however many collections it has. All other calls take microseconds or wait; only their number and bytes are bounded.
 */
import type { Clock } from '../../shared/clock.js';
import { type Overloaded, overloaded, type RefusalReason } from '../../shared/errors/overloaded.js';
import { assertWhole } from '../../shared/model/whole.js';
import { Counts } from '../../shared/scheduling/counts.js';
import { FairQueue } from '../../shared/scheduling/fairQueue.js';

/** Largest number of calls in flight, and of bytes in their messages. */
const CALLS_MAX = 16_384;
const BYTES_MAX = 512 * 1024 * 1024;
/** Largest number of reads that run at once. Each turn of the event loop runs one slice of one of them. */
const RUNNING_MAX = 16;
/**
 * Largest number of running reads of one project, and of one collection, while no other is busy. A short read need not
 * wait for a long one.
 */
const RUNNING_ALONE = 4;
/** Time for which one turn of the event loop may begin further reads, at least and at most. */
const TURN_MS = 4;
const LONG_TURN_MS = 12;

/** Collection that is read. */
export interface ReadTarget {
  readonly id: number;
  readonly project: string;
}

interface Waiting {
  readonly reader: ReadTarget;
  readonly begin: () => void;
  readonly refuse: (error: Overloaded) => void;
}

export class CallAdmission {
  readonly #queue: FairQueue<number, Waiting>;
  /** Running reads, by collection and by project. */
  readonly #running = new Counts<number>();
  readonly #runningOf = new Counts<string>();
  #runningAll = 0;
  #calls = 0;
  #bytes = 0;
  /** Time at which this turn of the event loop began its first read; undefined if it has begun none. */
  #turnStartedMs: number | undefined;
  #turnMs = TURN_MS;
  #resting = false;
  #isNextDue = false;

  /** `maxQueueWaitMs`: the longest time that a read, or the oldest write, waits for its turn. */
  constructor(
    readonly maxQueueWaitMs: number,
    private readonly clock: Clock,
    private readonly onRefused: (reason: RefusalReason) => void,
  ) {
    this.#queue = new FairQueue(maxQueueWaitMs, clock);
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
   * Admits the calls of one message; false if the shard is full. `finish` ends them. Urgent calls are always admitted.
   */
  admit(calls: number, sizeBytes: number, isUrgent = false): boolean {
    assertWhole(sizeBytes);
    if (!isUrgent && (this.#calls + calls > CALLS_MAX || this.#bytes + sizeBytes > BYTES_MAX)) return false;
    this.#calls += calls;
    this.#bytes += sizeBytes;
    return true;
  }

  finish(calls: number, sizeBytes: number): void {
    this.#calls -= calls;
    this.#bytes -= sizeBytes;
  }

  /** Counts a refusal, which may be decided elsewhere in the shard. */
  refusal(reason: RefusalReason): Overloaded {
    this.onRefused(reason);
    return overloaded(reason);
  }

  /** Runs a read that takes turns. Throws Overloaded. */
  async inTurn<T>(reader: ReadTarget, work: () => Promise<T>): Promise<T> {
    // Most reads end without a pause: many that arrive together would block the event loop like one.
    if (this.#queue.length === 0 && this.#hasCapacity(reader.id, reader.project) && !this.#isTurnOver())
      this.#enter(reader);
    else await this.#wait(reader);
    try {
      return await work();
    } finally {
      this.#leave(reader);
    }
  }

  #hasCapacity(collectionId: number, project: string): boolean {
    if (this.#runningAll >= RUNNING_MAX || this.#runningOf.of(project) >= RUNNING_ALONE) return false;
    const own = this.#running.of(collectionId);
    return own === 0 || own < Math.floor(RUNNING_ALONE / this.#running.size);
  }

  /** Whether reads have had their time in this turn of the event loop. */
  #isTurnOver(): boolean {
    const nowMs = this.clock.monotonicMs();
    if (this.#turnStartedMs !== undefined) return nowMs - this.#turnStartedMs > this.#turnMs;
    this.#turnStartedMs = nowMs;
    setImmediate(() => {
      this.#turnStartedMs = undefined;
    });
    return false;
  }

  #enter({ id, project }: ReadTarget): void {
    this.#running.add(id, 1);
    this.#runningOf.add(project, 1);
    this.#runningAll++;
  }

  /** Resolves when the read may run. */
  #wait(reader: ReadTarget): Promise<void> {
    const { id, project } = reader;
    const atWork = this.#running.of(id);
    if (!this.#queue.admits(id, atWork)) throw this.refusal('read_queue');
    return new Promise((begin, refuse) => {
      this.#queue.push(id, { reader, begin, refuse }, { units: 1, atWork }, project);
      // The reads in the queue may all wait for a place of their own collection or project, so this one may begin.
      if (this.#hasCapacity(id, project)) this.#beginNext();
    });
  }

  #leave({ id, project }: ReadTarget): void {
    this.#running.add(id, -1);
    this.#runningOf.add(project, -1);
    this.#runningAll--;
    if (this.#queue.length > 0) this.#beginNext();
  }

  #beginNext(): void {
    if (this.#resting) return;
    if (this.#isTurnOver()) {
      this.#rest();
      return;
    }
    if (this.#runningAll >= RUNNING_MAX) return;
    const next = this.#queue.take(
      (collectionId, project) => this.#hasCapacity(collectionId, project as string),
      ({ refuse }) => refuse(this.refusal('read_waited')),
    );
    if (next === undefined) return;
    this.#enter(next.reader);
    next.begin();
    // A read that ends without a pause begins the next as it leaves. Beside one that pauses there may be capacity.
    if (this.#isNextDue || this.#queue.length === 0) return;
    this.#isNextDue = true;
    setImmediate(() => {
      this.#isNextDue = false;
      this.#beginNext();
    });
  }

  /**
   * Lets the event loop handle heartbeats, commits and refusals. Reads then continue for as long as that took, within
   * bounds. Otherwise commits, which take no turns, could leave them next to no time.
   */
  #rest(): void {
    this.#resting = true;
    const endedMs = this.clock.monotonicMs();
    setImmediate(() => {
      this.#resting = false;
      this.#turnMs = Math.min(Math.max(this.clock.monotonicMs() - endedMs, TURN_MS), LONG_TURN_MS);
      this.#beginNext();
    });
  }
}

/** Whether a read takes one turn as a whole. A search of the past takes one only while it runs in this thread. */
export function takesTurns(call: { readonly op: string; readonly asOf?: unknown }): boolean {
  switch (call.op) {
    case 'search':
    case 'searchBatch':
      return call.asOf === undefined;
    case 'listRecords':
    case 'getRecords':
    case 'countRecords':
    case 'facets':
    case 'graphNodes':
    case 'graphEdges':
    case 'graphSubgraph':
    case 'graphQuery':
    // The next two read whole frames, each in slices.
    case 'timeline':
    case 'proofReceipt':
      return true;
    default:
      return false;
  }
}
