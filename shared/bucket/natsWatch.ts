/** Follows a bucket in JetStream's key-value store. */
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, unavailable } from '../errors/errors.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { Delivery, IDLE, type StreamMessage } from '../nats/natsDelivery.js';
import { RETRY_MS } from '../scheduling/retry.js';
import { SharedRun } from '../scheduling/sharedRun.js';
import type { BucketValue, Change, Entry, Watch } from './bucket.js';
import { bucketStreamName } from './natsStream.js';

/** The header of a mark: the deletion of a key that has no entry, by which a watch knows how far it has come. */
export const MARK_HEADER = 'Vouch-Mark';

/** The parts of its bucket that a watch needs. */
export interface WatchedBucket {
  readonly connection: ClusterConnection;
  readonly options: { readonly name: string; readonly ttlMs: number | undefined };
  /** The entry of the key as the stream's leader has it. */
  find(key: string): Promise<object | undefined>;
  /** Throws where the bytes are not an entry of the bucket. */
  parse(key: string, bytes: Uint8Array): BucketValue;
  /** Stores a mark. Its place in the stream. */
  mark(): Promise<number>;
}

interface Known {
  readonly entry: Entry;
  /** When the entry's time to live should end, on the monotonic clock. */
  readonly endMs: number;
}

const RECONNECT_WAIT_MS = 60_000;
/** Between two questions about an entry that should have ended, as parts of its time to live, and at least and at most. */
const ASKS_PER_TTL = 20;
const ASK_MIN_MS = 50;
const ASK_MAX_MS = 500;
interface MarkWait {
  readonly sequence: number;
  readonly end: (isHeard: boolean) => void;
}

/** How fast the clocks of a server and of this process are found to have come apart: a part of what a change came late. */
const OFFSET_SHARE = 1 / 16;
/** A stored mark arrives within milliseconds. After this time without it the delivery restarts, maybe at another server. */
const MARK_WITHIN_MS = 2_000;

/**
 * Follows a bucket: the newest entry of every key, then every change.
 *
 *   start ──▶ catching up ──all entries told──▶ following ──delivery broke──▶ catching up …       stop() ──▶ stopped
 *
 * After a break it reads all entries again, and reports only the differences. It reports that an entry is gone only when the
 * stream's leader says so: the delivery may come from a stale replica, and the server's clock decides when a time to live ends.
 */
export class NatsWatch implements Watch {
  /** The revision up to which the listener has received every change; undefined while it catches up. */
  private toldUpTo: number | undefined;
  /** The same of the deliveries before. */
  private toldBefore = 0;
  private readonly catchUps = new SharedRun(() => this.catchUp());
  private readonly known = new Map<string, Known>();
  private readonly connection: ClusterConnection;
  private readonly prefix: string;
  private delivery: Delivery | undefined;
  /** Looks when the first of the entries should have ended. */
  private timer: NodeJS.Timeout | undefined;
  private timerMs = Number.POSITIVE_INFINITY;
  /** What our monotonic clock shows beyond the server's at the moment of a change: the difference and the shortest way. */
  private offsetMs: number | undefined;
  private stopped = false;
  /** For marks, by their places; `false` where the wait is over without it. */
  private readonly waiting = new Set<MarkWait>();
  /** The newest mark that has arrived, and how many more messages there were then. */
  private heard: { readonly sequence: number; left: number } | undefined;
  /** The mark up to which everything is reported; 0: no mark of this delivery. */
  private heardUpTo = 0;

  private constructor(
    private readonly bucket: WatchedBucket,
    private readonly listener: (change: Change) => void,
  ) {
    this.connection = bucket.connection;
    this.prefix = `$KV.${bucket.options.name}.`;
  }

  /** Resolves when every entry has been reported. */
  static async start(bucket: WatchedBucket, listener: (change: Change) => void): Promise<Watch> {
    const watch = new NatsWatch(bucket, listener);
    try {
      await new Promise<void>((resolve, reject) => {
        void watch.run(resolve, reject);
      });
    } catch (error) {
      watch.stop();
      throw error;
    }
    return watch;
  }

  caughtUp(): Promise<void> {
    return this.catchUps.next();
  }

  async read(key: string): Promise<Entry | undefined> {
    await this.caughtUp();
    return this.known.get(key)?.entry;
  }

  /**
   * Delivery follows stream order: after the mark, every entry stored earlier has arrived, except replaced ones. Their replacements
   * arrive next. A later mark may have replaced this one.
   */
  private async catchUp(): Promise<void> {
    if (this.stopped) throw unavailable('the watch was stopped');
    const { delivery } = this;
    const sequence = await this.bucket.mark();
    if (this.heardUpTo >= sequence || (!this.stopped && (await this.hears(sequence)))) return;
    // One that is still catching up ends by itself where nothing comes any more.
    if (this.delivery === delivery && this.toldUpTo !== undefined) delivery?.stop();
    throw unavailable('a watch of the cluster does not catch up; retry shortly');
  }

  private async hears(sequence: number): Promise<boolean> {
    let end: (isHeard: boolean) => void = () => undefined;
    const heard = new Promise<boolean>((resolve) => {
      end = resolve;
    });
    const waiting = { sequence, end };
    const timer = setTimeout(() => end(false), MARK_WITHIN_MS).unref();
    this.waiting.add(waiting);
    try {
      return await heard;
    } finally {
      clearTimeout(timer);
      this.waiting.delete(waiting);
    }
  }

  stop(): void {
    this.stopped = true;
    for (const { end } of this.waiting) end(false);
    clearTimeout(this.timer);
    this.delivery?.stop();
  }

  /** Runs until it is stopped or the connection is closed; the caller learns of a failure of the first round alone. */
  private async run(caughtUp: () => void, failed: (error: unknown) => void): Promise<void> {
    let first = true;
    const done = (): void => {
      first = false;
      caughtUp();
    };
    const { connection } = this;
    while (!this.stopped && !connection.closed) {
      try {
        await this.round(done);
      } catch (error) {
        if (first) return failed(error);
        connection.logger.debug({ bucket: this.bucket.options.name, error: messageOf(error) }, 'a watch begins again');
      }
      await connection.untilConnected(RECONNECT_WAIT_MS);
      if (!this.stopped) await delay(RETRY_MS.watch);
    }
    this.stop();
    if (first) failed(unavailable('the watch was stopped before it began'));
  }

  /** One delivery, from catching up until it breaks. */
  private async round(caughtUp: () => void): Promise<void> {
    const source = {
      stream: bucketStreamName(this.bucket.options.name),
      subject: `${this.prefix}>`,
      from: 'newest',
    } as const;
    const delivery = await Delivery.start(this.connection, source);
    this.delivery = delivery;
    this.heard = undefined;
    this.heardUpTo = 0;
    this.toldBefore = Math.max(this.toldBefore, this.toldUpTo ?? 0);
    this.toldUpTo = undefined;
    try {
      await this.follow(delivery, caughtUp);
    } finally {
      delivery.stop();
    }
  }

  private async follow(delivery: Delivery, caughtUp: () => void): Promise<void> {
    const seen = new Set<string>();
    let catchingUp = true;
    let last = 0;
    const finish = async (): Promise<void> => {
      for (const [key, { entry }] of [...this.known])
        if (!seen.has(key) && !(await this.bucket.find(key))) this.tellGone(key, entry.revision);
      catchingUp = false;
      this.toldUpTo = Math.max(last, this.toldBefore);
      caughtUp();
    };
    if (delivery.hasBegun(0)) await finish();
    let count = 0;
    for await (const item of delivery) {
      if (this.stopped) return;
      // A delivery comes to an inbox, to which others may have sent something of another stream.
      if (item !== IDLE && !item.message.subject.startsWith(this.prefix))
        throw unavailable('a watch heard something that is not of its bucket');
      if (item !== IDLE) {
        const key = item.message.subject.slice(this.prefix.length);
        if (catchingUp) seen.add(key);
        last = item.sequence;
        if (!this.isDoubtful(key, item) || (await this.bucket.find(key))) this.take(key, item, !catchingUp);
      }
      this.tellHeard(item === IDLE || item.pending === 0);
      // A message that another one replaced while it was on its way is never sent, and may be counted as pending for ever.
      if (catchingUp && (item === IDLE || item.pending === 0 || delivery.hasBegun(++count))) await finish();
    }
  }

  /** Whether its end was told by a delivery before: a server that lags still has it; or the stream was made anew. */
  private isDoubtful(key: string, { sequence, message }: StreamMessage): boolean {
    return sequence <= this.toldBefore && message.data.length > 0 && !this.known.has(key);
  }

  private take(key: string, item: StreamMessage, isNew: boolean): void {
    const { message, sequence: revision } = item;
    if (isNew) this.toldUpTo = Math.max(this.toldUpTo ?? 0, revision);
    if ((this.known.get(key)?.entry.revision ?? 0) >= revision) return;
    // A deletion is an empty message; JSON never is.
    if (message.data.length === 0) {
      // It is counted once more as it is taken.
      if (message.headers?.has(MARK_HEADER)) this.heard = { sequence: revision, left: item.pending + 1 };
      // Reported even for an entry that was never delivered: this process itself may have made it.
      else this.tellGone(key, revision);
      return;
    }
    try {
      const entry = { key, value: this.bucket.parse(key, message.data), revision };
      const endMs = this.endOf(item, isNew);
      this.known.set(key, { entry, endMs });
      this.lookAt(endMs);
      this.listener({ key, entry });
    } catch (error) {
      this.connection.logger.error({ key, error: messageOf(error) }, 'a change of a bucket could not be taken');
    }
  }

  /** A mark stands for those before it, too. `isLast`: there are no more messages now. */
  private tellHeard(isLast: boolean): void {
    const { heard } = this;
    if (heard === undefined || (--heard.left > 0 && !isLast)) return;
    this.heard = undefined;
    this.heardUpTo = heard.sequence;
    for (const { sequence, end } of this.waiting) if (sequence <= heard.sequence) end(true);
  }

  private tellGone(key: string, endedUpTo: number): void {
    this.known.delete(key);
    if (!this.stopped) this.listener({ key, entry: undefined, endedUpTo });
  }

  /** Infinite where entries do not end. Where clocks differ, the leader is asked more often, or later. */
  private endOf({ timeMs }: StreamMessage, isNew: boolean): number {
    const { ttlMs } = this.bucket.options;
    if (ttlMs === undefined) return Number.POSITIVE_INFINITY;
    const { clock } = this.connection;
    const nowMs = clock.monotonicMs();
    const ageMs = Math.min(clock.nowMs() - timeMs, isNew ? this.lateness(nowMs - timeMs) : ttlMs);
    return nowMs + ttlMs - Math.min(Math.max(ageMs, 0), ttlMs);
  }

  /** How late a change came, as far as the others tell, whatever clocks show. `apartMs`: from the server's time to ours. */
  private lateness(apartMs: number): number {
    const lateMs = apartMs - (this.offsetMs ?? apartMs);
    this.offsetMs = lateMs <= 0 ? apartMs : apartMs - lateMs * (1 - OFFSET_SHARE);
    return Math.max(lateMs, 0);
  }

  /** Looks at that moment, or earlier. */
  private lookAt(endMs: number): void {
    if (endMs >= this.timerMs || this.stopped) return;
    clearTimeout(this.timer);
    this.timerMs = endMs;
    const waitMs = Math.max(endMs - this.connection.clock.monotonicMs(), 0);
    this.timer = setTimeout(() => void this.look(), waitMs).unref();
  }

  /** Asks the leader about every entry whose time to live should have ended: JetStream does not tell of those. */
  private async look(): Promise<void> {
    const { connection, bucket } = this;
    try {
      const nowMs = connection.clock.monotonicMs();
      for (const [key, { entry, endMs }] of this.known) {
        if (endMs > nowMs || !connection.connected || (await bucket.find(key))) continue;
        // A newer entry may have come meanwhile.
        if (this.known.get(key)?.entry === entry) this.tellGone(key, entry.revision);
      }
    } catch (error) {
      connection.logger.debug({ bucket: bucket.options.name, error: messageOf(error) }, 'a look is put off');
    }
    this.timerMs = Number.POSITIVE_INFINITY;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { endMs } of this.known.values()) nextMs = Math.min(nextMs, endMs);
    const askMs = Math.min(Math.max((bucket.options.ttlMs ?? 0) / ASKS_PER_TTL, ASK_MIN_MS), ASK_MAX_MS);
    if (nextMs < Number.POSITIVE_INFINITY) this.lookAt(Math.max(nextMs, connection.clock.monotonicMs() + askMs));
  }
}
