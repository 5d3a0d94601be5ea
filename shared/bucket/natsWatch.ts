/**
 * Follows a bucket in JetStream's key-value store. Reports the newest entry of every key, then every change.
 *
 * ```
 *   connecting ──a delivery begins──▶ reading ──every entry is reported──▶ following
 *   reading, following ──the delivery breaks──▶ connecting
 *   connecting, reading, following ──stop()──▶ stopped
 * ```
 *
 * After a break it reads all entries again, and reports only the differences. It asks the stream's leader before it reports that an
 * entry is gone. The delivery may come from a stale replica, and the server's clock decides when a time to live ends.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, unavailable } from '../errors/errors.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { Delivery, IDLE, type StreamMessage } from '../nats/natsDelivery.js';
import { RETRY_MS } from '../scheduling/retry.js';
import { SharedRun } from '../scheduling/sharedRun.js';
import type { BucketValue, Change, Entry, Watch } from './bucket.js';
import { NatsMarks } from './natsMarks.js';
import { bucketStreamName } from './natsStream.js';

/** The header of a mark: the deletion of a key that has no entry, by which a watch knows how far it has come. */
export const MARK_HEADER = 'Vouch-Mark';

/** The parts of its bucket that a watch needs. */
export interface WatchedBucket {
  readonly connection: ClusterConnection;
  readonly options: { readonly name: string; readonly ttlMs: number | undefined };
  /** The entry of the key as the stream's leader has it. */
  find(key: string): Promise<object | undefined>;
  /** Throws if the bytes are not an entry of the bucket. */
  parse(key: string, bytes: Uint8Array): BucketValue;
  /** Stores a mark, and returns its place in the stream. */
  mark(): Promise<number>;
}

interface Known {
  readonly entry: Entry;
  /** When the entry's time to live should end, on the monotonic clock. */
  readonly endMs: number;
}

/** The state while a delivery brings the entries that exist. */
interface Reading {
  readonly kind: 'reading';
  readonly delivery: Delivery;
  /** The keys that this delivery has brought. An entry of any other key may be gone. */
  readonly seen: Set<string>;
  /** The newest revision that this delivery has brought. */
  last: number;
}

type WatchState =
  | { readonly kind: 'connecting' }
  | Reading
  /** The listener has received every change up to the revision `upTo`, which never decreases. */
  | { readonly kind: 'following'; readonly delivery: Delivery; upTo: number }
  | { readonly kind: 'stopped' };

const CONNECTING: WatchState = { kind: 'connecting' };
const STOPPED: WatchState = { kind: 'stopped' };

const RECONNECT_WAIT_MS = 60_000;
/** Between two questions about an entry that should have ended: a part of its time to live, within bounds. */
const ASKS_PER_TTL = 20;
const ASK_MIN_MS = 50;
const ASK_MAX_MS = 500;
/** How fast the clocks of a server and of this process may drift apart: a part of the delay of a change. */
const OFFSET_SHARE = 1 / 16;

export class NatsWatch implements Watch {
  #state: WatchState = CONNECTING;
  /** The largest `upTo` of earlier deliveries. */
  #reportedBefore = 0;
  readonly #catchUps = new SharedRun(() => this.#catchUp());
  readonly #known = new Map<string, Known>();
  readonly #marks = new NatsMarks();
  readonly #connection: ClusterConnection;
  readonly #prefix: string;
  /** The next look at entries that should have ended, or the one in progress. No entry ends before `atMs`. */
  #look: { readonly timer: NodeJS.Timeout; readonly atMs: number } | undefined;
  /** Our monotonic clock minus the server's clock at the arrival of a change: their difference and the shortest delay. */
  #offsetMs: number | undefined;

  private constructor(
    private readonly bucket: WatchedBucket,
    private readonly listener: (change: Change) => void,
  ) {
    this.#connection = bucket.connection;
    this.#prefix = `$KV.${bucket.options.name}.`;
  }

  /** Resolves when every entry has been reported. */
  static async start(bucket: WatchedBucket, listener: (change: Change) => void): Promise<Watch> {
    const watch = new NatsWatch(bucket, listener);
    try {
      await new Promise<void>((resolve, reject) => {
        void watch.#run(resolve, reject);
      });
    } catch (error) {
      watch.stop();
      throw error;
    }
    return watch;
  }

  caughtUp(): Promise<void> {
    return this.#catchUps.next();
  }

  async read(key: string): Promise<Entry | undefined> {
    await this.caughtUp();
    return this.#known.get(key)?.entry;
  }

  stop(): void {
    const state = this.#state;
    this.#state = STOPPED;
    this.#marks.stop();
    clearTimeout(this.#look?.timer);
    if ('delivery' in state) state.delivery.stop();
  }

  get #isStopped(): boolean {
    return this.#state.kind === 'stopped';
  }

  /**
   * Delivery follows stream order: after the mark, every entry stored earlier has arrived, except replaced ones. Their replacements
   * arrive next.
   */
  async #catchUp(): Promise<void> {
    const before = this.#state;
    if (before.kind === 'stopped') throw unavailable('the watch was stopped');
    const sequence = await this.bucket.mark();
    if (this.#marks.includes(sequence) || (!this.#isStopped && (await this.#marks.until(sequence)))) return;
    const state = this.#state;
    // A delivery that is still reading ends by itself when nothing arrives any more.
    if (state.kind === 'following' && 'delivery' in before && before.delivery === state.delivery) state.delivery.stop();
    throw unavailable('a watch of the cluster does not catch up; retry shortly');
  }

  /** Runs until it is stopped or the connection is closed. The caller learns only of a failure of the first delivery. */
  async #run(caughtUp: () => void, failed: (error: unknown) => void): Promise<void> {
    let first = true;
    const done = (): void => {
      first = false;
      caughtUp();
    };
    const connection = this.#connection;
    while (!this.#isStopped && !connection.closed) {
      try {
        await this.#round(done);
      } catch (error) {
        if (first) return failed(error);
        connection.logger.debug({ bucket: this.bucket.options.name, error: messageOf(error) }, 'a watch begins again');
      }
      await connection.untilConnected(RECONNECT_WAIT_MS);
      if (!this.#isStopped) await delay(RETRY_MS.watch);
    }
    this.stop();
    if (first) failed(unavailable('the watch was stopped before it began'));
  }

  /** One delivery, from its beginning until it breaks. */
  async #round(caughtUp: () => void): Promise<void> {
    const source = {
      stream: bucketStreamName(this.bucket.options.name),
      subject: `${this.#prefix}>`,
      from: 'newest',
    } as const;
    const delivery = await Delivery.start(this.#connection, source);
    try {
      if (!this.#isStopped) await this.#receive(this.#begin(delivery), caughtUp);
    } finally {
      delivery.stop();
      this.#broken();
    }
  }

  #begin(delivery: Delivery): Reading {
    const reading: Reading = { kind: 'reading', delivery, seen: new Set(), last: 0 };
    this.#state = reading;
    this.#marks.begin();
    return reading;
  }

  #broken(): void {
    if (this.#state.kind === 'following') this.#reportedBefore = Math.max(this.#reportedBefore, this.#state.upTo);
    if (!this.#isStopped) this.#state = CONNECTING;
  }

  async #receive(reading: Reading, caughtUp: () => void): Promise<void> {
    const { delivery, seen } = reading;
    const finish = async (): Promise<void> => {
      for (const [key, { entry }] of [...this.#known])
        if (!seen.has(key) && !(await this.bucket.find(key))) this.#reportGone(key, entry.revision);
      this.#caughtUp(reading);
      caughtUp();
    };
    if (delivery.hasBegun(0)) await finish();
    let count = 0;
    for await (const item of delivery) {
      if (this.#isStopped) return;
      // A delivery comes to an inbox. Other processes may have sent a message of another stream to it.
      if (item !== IDLE && !item.message.subject.startsWith(this.#prefix))
        throw unavailable('a watch received a message that is not of its bucket');
      if (item !== IDLE) {
        const key = item.message.subject.slice(this.#prefix.length);
        const isNew = this.#state !== reading;
        if (!isNew) seen.add(key);
        reading.last = item.sequence;
        if (!this.#isDoubtful(key, item) || (await this.bucket.find(key))) this.#take(key, item, isNew);
      }
      const isLast = item === IDLE || item.pending === 0;
      this.#marks.advance(isLast);
      // A message that another one replaced while it was on its way is never sent, and may be counted as pending for ever.
      if (this.#state === reading && (isLast || delivery.hasBegun(++count))) await finish();
    }
  }

  #caughtUp(reading: Reading): void {
    if (this.#state !== reading) return;
    const upTo = Math.max(reading.last, this.#reportedBefore);
    this.#state = { kind: 'following', delivery: reading.delivery, upTo };
  }

  /** Whether an earlier delivery may have reported the end of this entry: a stale replica still has it, or the stream is new. */
  #isDoubtful(key: string, { sequence, message }: StreamMessage): boolean {
    return sequence <= this.#reportedBefore && message.data.length > 0 && !this.#known.has(key);
  }

  #take(key: string, item: StreamMessage, isNew: boolean): void {
    const { message, sequence: revision } = item;
    if (this.#state.kind === 'following') this.#state.upTo = Math.max(this.#state.upTo, revision);
    if ((this.#known.get(key)?.entry.revision ?? 0) >= revision) return;
    // A deletion is an empty message; JSON never is.
    if (message.data.length === 0) {
      if (message.headers?.has(MARK_HEADER)) this.#marks.arrived(revision, item.pending);
      // Reported even for an entry that was never delivered: this process itself may have made it.
      else this.#reportGone(key, revision);
      return;
    }
    try {
      const entry = { key, value: this.bucket.parse(key, message.data), revision };
      const endMs = this.#endOf(item, isNew);
      this.#known.set(key, { entry, endMs });
      this.#lookAt(endMs);
      this.listener({ key, entry });
    } catch (error) {
      this.#connection.logger.error({ key, error: messageOf(error) }, 'a change of a bucket could not be taken');
    }
  }

  #reportGone(key: string, endedUpTo: number): void {
    this.#known.delete(key);
    if (!this.#isStopped) this.listener({ key, entry: undefined, endedUpTo });
  }

  /** Returns when the entry should end; infinite if entries do not end. A wrong clock makes the watch ask more often, or later. */
  #endOf({ timeMs }: StreamMessage, isNew: boolean): number {
    const { ttlMs } = this.bucket.options;
    if (ttlMs === undefined) return Number.POSITIVE_INFINITY;
    const { clock } = this.#connection;
    const nowMs = clock.monotonicMs();
    const ageMs = Math.min(clock.nowMs() - timeMs, isNew ? this.#latenessMs(nowMs - timeMs) : ttlMs);
    return nowMs + ttlMs - Math.min(Math.max(ageMs, 0), ttlMs);
  }

  /** Estimates the delay of a change by comparison with other changes. `apartMs`: from the server's time to ours. */
  #latenessMs(apartMs: number): number {
    const lateMs = apartMs - (this.#offsetMs ?? apartMs);
    this.#offsetMs = lateMs <= 0 ? apartMs : apartMs - lateMs * (1 - OFFSET_SHARE);
    return Math.max(lateMs, 0);
  }

  /** Looks at that moment, or earlier. */
  #lookAt(endMs: number): void {
    if (endMs >= (this.#look?.atMs ?? Number.POSITIVE_INFINITY) || this.#isStopped) return;
    clearTimeout(this.#look?.timer);
    const waitMs = Math.max(endMs - this.#connection.clock.monotonicMs(), 0);
    this.#look = { timer: setTimeout(() => void this.#lookNow(), waitMs).unref(), atMs: endMs };
  }

  /** Asks the leader about every entry whose time to live should have ended: JetStream does not report that. */
  async #lookNow(): Promise<void> {
    const { bucket } = this;
    const connection = this.#connection;
    try {
      const nowMs = connection.clock.monotonicMs();
      for (const [key, { entry, endMs }] of this.#known) {
        if (endMs > nowMs || !connection.connected || (await bucket.find(key))) continue;
        // A newer entry may have arrived meanwhile.
        if (this.#known.get(key)?.entry === entry) this.#reportGone(key, entry.revision);
      }
    } catch (error) {
      connection.logger.debug({ bucket: bucket.options.name, error: messageOf(error) }, 'a look is put off');
    }
    clearTimeout(this.#look?.timer);
    this.#look = undefined;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { endMs } of this.#known.values()) nextMs = Math.min(nextMs, endMs);
    const askMs = Math.min(Math.max((bucket.options.ttlMs ?? 0) / ASKS_PER_TTL, ASK_MIN_MS), ASK_MAX_MS);
    if (nextMs < Number.POSITIVE_INFINITY) this.#lookAt(Math.max(nextMs, connection.clock.monotonicMs() + askMs));
  }
}
