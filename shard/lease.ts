/**
 * A shard's right to answer. It renews its heartbeat; while the last renewal that went through is younger than the
 * lease, no coordinator can have given its collections to another shard, and what it holds in memory is current.
 */
import type { Bucket, Json } from '../shared/bucket/bucket.js';
import type { Clock } from '../shared/clock.js';
import { messageOf } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';
import { type Heartbeat, heartbeatOf, storedHeartbeat } from '../shared/owners.js';
import { Rounds } from '../shared/rounds.js';
import { whenAvailable } from '../shared/startUp.js';

export interface LeaseOptions {
  readonly shard: string;
  readonly session: string;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
  /** What the heartbeat says besides the session. */
  readonly load: () => Omit<Heartbeat, 'session'>;
  /** Called after the lease was over for a while, before it is valid again: what was held may be another's now. */
  readonly onRegain: () => Promise<void>;
  /** Another process runs under this shard's name. */
  readonly onTakenOver: () => void;
}

export class Lease {
  #revision: number | undefined;
  #renewedMs = Number.NEGATIVE_INFINITY;
  readonly #rounds: Rounds;
  #takenOver = false;

  constructor(
    private readonly bucket: Bucket,
    private readonly options: LeaseOptions,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.#rounds = new Rounds(() => this.#renew(), options.heartbeatMs);
  }

  /** Takes the shard's name, from a process that died or from one that still runs: that one notices when it renews. */
  async start(): Promise<void> {
    const take = async (): Promise<void> => {
      const askedMs = this.clock.monotonicMs();
      this.#revision = await this.bucket.put(this.options.shard, this.#heartbeat());
      this.#renewedMs = askedMs;
    };
    await whenAvailable('the heartbeats', take, { clock: this.clock, logger: this.logger });
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    this.#renewedMs = Number.NEGATIVE_INFINITY;
  }

  /** Over for good: another process has the name, or is about to take it. */
  yield(): void {
    if (this.#takenOver) return;
    this.#takenOver = true;
    void this.#rounds.stop();
    this.#renewedMs = Number.NEGATIVE_INFINITY;
    this.options.onTakenOver();
  }

  /** Writes the heartbeat now. */
  tell(): Promise<void> {
    return this.#rounds.now();
  }

  /** How long it is still valid; 0 when it is over. */
  get leftMs(): number {
    return Math.max(this.options.leaseMs - (this.clock.monotonicMs() - this.#renewedMs), 0);
  }

  get leaseMs(): number {
    return this.options.leaseMs;
  }

  get valid(): boolean {
    return this.leftMs > 0;
  }

  async #renew(): Promise<void> {
    if (this.#takenOver) return;
    const askedMs = this.clock.monotonicMs();
    try {
      const revision = await this.#write();
      if (revision === undefined) return;
      this.#revision = revision;
      if (!this.valid) await this.options.onRegain();
      if (!this.#takenOver) this.#renewedMs = askedMs;
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, 'the heartbeat did not go through');
    }
  }

  async #write(): Promise<number | undefined> {
    const revision = await this.bucket.update(this.options.shard, this.#heartbeat(), this.#revision ?? 0);
    if (revision !== undefined) return revision;
    const entry = await this.bucket.get(this.options.shard);
    // Expired while this process could not renew: the name is free, and is taken again.
    if (entry === undefined) return this.bucket.create(this.options.shard, this.#heartbeat());
    if (heartbeatOf(entry).session === this.options.session) {
      // An earlier renewal went through although its answer was lost.
      this.#revision = entry.revision;
      return undefined;
    }
    this.yield();
    return undefined;
  }

  #heartbeat(): Json {
    return storedHeartbeat({ session: this.options.session, ...this.options.load() });
  }
}
