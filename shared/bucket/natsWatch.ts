/**
 * Follows a bucket: the newest entry of every key, then every change.
 *
 *   start ──▶ catching up ──told all there is──▶ following ──delivery broke──▶ catching up …       stop() ──▶ stopped
 *
 * After every break all entries are gone through again and only differences are told, so a watch needs to know nothing
 * of what happened while it was blind. An entry is told as gone only when the stream's leader has said so: the delivery
 * may come from a replica that lags, and a time to live is over when the server says it is, whatever the clocks say.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, unavailable } from '../errors.js';
import type { ClusterConnection } from '../natsConnection.js';
import { Delivery, IDLE, type StreamMessage } from '../natsDelivery.js';
import type { Change, Json, Watch } from './bucket.js';

export interface WatchPlan {
  readonly connection: ClusterConnection;
  readonly bucket: string;
  readonly ttlMs: number | undefined;
  readonly parse: (key: string, bytes: Uint8Array) => Json;
  /** Asks the stream's leader. */
  readonly exists: (key: string) => Promise<boolean>;
  readonly listener: (change: Change) => void;
}

interface Known {
  readonly revision: number;
  /** Monotonic; when the entry's time to live should be over. */
  readonly endMs: number;
}

const RETRY_MS = 100;
const RECONNECT_WAIT_MS = 60_000;
const SWEEPS_PER_TTL = 20;
const SWEEP_MIN_MS = 50;
const SWEEP_MAX_MS = 500;

export class NatsWatch implements Watch {
  private readonly known = new Map<string, Known>();
  private readonly prefix: string;
  private delivery: Delivery | undefined;
  private sweeper: NodeJS.Timeout | undefined;
  private sweeping = false;
  private stopped = false;

  private constructor(private readonly plan: WatchPlan) {
    this.prefix = `$KV.${plan.bucket}.`;
  }

  /** Resolves when every entry there is has been told. */
  static async start(plan: WatchPlan): Promise<Watch> {
    const watch = new NatsWatch(plan);
    try {
      await new Promise<void>((resolve, reject) => {
        void watch.run(resolve, reject);
      });
    } catch (error) {
      watch.stop();
      throw error;
    }
    if (plan.ttlMs !== undefined && !watch.stopped) watch.sweepEvery(plan.ttlMs);
    return watch;
  }

  stop(): void {
    this.stopped = true;
    clearInterval(this.sweeper);
    this.delivery?.stop();
  }

  /** Goes on until stopped or closed; only the first round's failure is the caller's. */
  private async run(caughtUp: () => void, failed: (error: unknown) => void): Promise<void> {
    let first = true;
    const done = (): void => {
      first = false;
      caughtUp();
    };
    const { connection, bucket } = this.plan;
    while (!this.stopped && !connection.closed) {
      try {
        await this.round(done);
      } catch (error) {
        if (first) return failed(error);
        connection.logger.debug({ bucket, error: messageOf(error) }, 'a watch begins again');
      }
      await connection.untilConnected(RECONNECT_WAIT_MS);
      if (!this.stopped) await delay(RETRY_MS);
    }
    this.stop();
    if (first) failed(unavailable('the watch was stopped before it began'));
  }

  /** One delivery, from catching up until it breaks. */
  private async round(caughtUp: () => void): Promise<void> {
    const source = { stream: `KV_${this.plan.bucket}`, subject: `${this.prefix}>`, from: 'newest' } as const;
    const delivery = await Delivery.start(this.plan.connection, source);
    this.delivery = delivery;
    try {
      await this.follow(delivery, caughtUp);
    } finally {
      delivery.stop();
    }
  }

  private async follow(delivery: Delivery, caughtUp: () => void): Promise<void> {
    const seen = new Set<string>();
    let catchingUp = true;
    const finish = async (): Promise<void> => {
      await this.tellGoneUnless(seen);
      catchingUp = false;
      caughtUp();
    };
    if (delivery.hasBegun(0)) await finish();
    let count = 0;
    for await (const item of delivery) {
      if (this.stopped) return;
      if (item !== IDLE) {
        if (catchingUp) seen.add(this.keyOf(item));
        this.take(item);
      }
      // A message that another one replaced while it was on its way is never sent, and may be counted as pending for ever.
      if (catchingUp && (item === IDLE || item.pending === 0 || delivery.hasBegun(++count))) await finish();
    }
  }

  private keyOf(item: StreamMessage): string {
    return item.message.subject.slice(this.prefix.length);
  }

  private take(item: StreamMessage): void {
    const { message, sequence: revision } = item;
    const key = this.keyOf(item);
    if ((this.known.get(key)?.revision ?? 0) >= revision) return;
    // A deletion is an empty message; JSON never is.
    if (message.data.length === 0) this.tellGone(key);
    else this.tell(key, item);
  }

  private tell(key: string, item: StreamMessage): void {
    const { message, sequence: revision } = item;
    try {
      const value = this.plan.parse(key, message.data);
      this.known.set(key, { revision, endMs: this.endOf(item) });
      this.plan.listener({ key, entry: { key, value, revision } });
    } catch (error) {
      this.plan.connection.logger.error({ key, error: messageOf(error) }, 'a change of a bucket could not be taken');
    }
  }

  private tellGone(key: string): void {
    if (this.known.delete(key) && !this.stopped) this.plan.listener({ key, entry: undefined });
  }

  private async tellGoneUnless(seen: ReadonlySet<string>): Promise<void> {
    for (const key of [...this.known.keys()]) if (!seen.has(key) && !(await this.plan.exists(key))) this.tellGone(key);
  }

  /** By the server's clock and ours; if those differ, entries are asked after more often, or told later. */
  private endOf({ timeMs }: StreamMessage): number {
    const { clock } = this.plan.connection;
    const ttlMs = this.plan.ttlMs ?? Number.POSITIVE_INFINITY;
    const ageMs = Math.min(Math.max(clock.nowMs() - timeMs, 0), ttlMs);
    return clock.monotonicMs() + ttlMs - ageMs;
  }

  /** JetStream does not tell watchers of what it lets vanish, so whatever should be over is asked after. */
  private sweepEvery(ttlMs: number): void {
    const everyMs = Math.min(Math.max(ttlMs / SWEEPS_PER_TTL, SWEEP_MIN_MS), SWEEP_MAX_MS);
    this.sweeper = setInterval(() => void this.sweep(), everyMs);
  }

  private async sweep(): Promise<void> {
    const { connection, exists } = this.plan;
    if (this.sweeping || !connection.connected) return;
    this.sweeping = true;
    try {
      const nowMs = connection.clock.monotonicMs();
      for (const [key, { revision, endMs }] of this.known) {
        if (endMs > nowMs || (await exists(key))) continue;
        // A newer entry may have come while we asked.
        if (this.known.get(key)?.revision === revision) this.tellGone(key);
      }
    } catch (error) {
      connection.logger.debug({ bucket: this.plan.bucket, error: messageOf(error) }, 'a sweep is put off');
    } finally {
      this.sweeping = false;
    }
  }
}
