/**
 * A shard's right to answer as an owner, which it renews with its heartbeat. While the last renewal is younger than the lease, no
 * coordinator can have given the shard's collections to another shard, so its memory is current. Followers answer without a
 * lease: see `follow/follower.ts`. The lease is asked before and after each call, by `callRunner.ts`.
 *
 * ```
 *   starting ──heartbeat stored──▶ settled ──expired, then renewed──▶ unsettled ──owners read again──▶ settled
 *   unsettled ──expired again, then renewed──▶ unsettled
 *   starting, settled, unsettled ──another process has the name, or stop()──▶ ended
 * ```
 *
 * Only a settled lease can be valid, and only until it expires. Expiry is not a transition: time passes without this process.
 */
import type { Bucket, BucketValue, Watch } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf, unavailable } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { whenAvailable } from '../../shared/process/startUp.js';
import { PROTOCOL_VERSION } from '../../shared/protocol/version.js';
import { type Heartbeat, heartbeatOf, storedHeartbeat } from '../../shared/registry/owners.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';

interface LeaseOptions {
  readonly shard: string;
  readonly session: string;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
  /** The content of the heartbeat, without the fields that identify the process. */
  readonly load: () => Omit<Heartbeat, 'session' | 'protocol'>;
  /**
   * Called when the heartbeat is stored again after the lease had expired: other shards may own the collections now. The lease is
   * valid again once it resolves.
   */
  readonly onRegain: () => Promise<void>;
  /** Called when another process runs under this shard's name. */
  readonly onTakenOver: () => void;
}

/** The newest heartbeat of this process. Only a renewal changes it, and one renewal runs at a time. */
interface StoredHeartbeat {
  revision: number;
  /** When its write began, on the monotonic clock: the lease counts from then. Never decreases. */
  renewedMs: number;
}

type LeaseState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'settled'; readonly heartbeat: StoredHeartbeat }
  | Unsettled
  | { readonly kind: 'ended' };

/** The state after an expiry: other shards may own the collections now. Each expiry makes another object. */
interface Unsettled {
  readonly kind: 'unsettled';
  readonly heartbeat: StoredHeartbeat;
  /** While `onRegain` runs for this expiry. */
  isRegaining: boolean;
}

export class Lease {
  #state: LeaseState = { kind: 'starting' };
  #lapses = 0;
  readonly #rounds: PeriodicTask;
  /** The watch of all heartbeats. The first call of `mayRunFor` begins it. */
  #watch: Promise<Watch> | undefined;

  constructor(
    private readonly bucket: Bucket,
    private readonly options: LeaseOptions,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.#rounds = new PeriodicTask(() => this.#renew(), options.heartbeatMs);
  }

  /** Takes the shard's name. Another process with that name loses its lease, and notices that when it renews. */
  async start(): Promise<void> {
    const take = async (): Promise<void> => {
      const renewedMs = this.clock.monotonicMs();
      const revision = await this.bucket.put(this.options.shard, this.#heartbeat());
      if (this.#state.kind === 'starting') this.#state = { kind: 'settled', heartbeat: { revision, renewedMs } };
    };
    await whenAvailable('the heartbeats', take, { clock: this.clock, logger: this.logger });
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    void this.#watch?.then((watch) => watch.stop()).catch(() => undefined);
    this.#state = { kind: 'ended' };
  }

  /** Ends the lease for good, because another process has the name or is about to take it. */
  yield(): void {
    if (this.#state.kind === 'ended') return;
    this.#state = { kind: 'ended' };
    void this.#rounds.stop();
    this.options.onTakenOver();
  }

  /** Whether the shard of that name may have a lease, because its heartbeat is stored as of this call. */
  async mayRunFor(shard: string): Promise<boolean> {
    this.#watch ??= this.bucket.watch(() => undefined);
    const watch = await this.#watch.catch((error: unknown) => {
      this.#watch = undefined;
      throw error;
    });
    return (await watch.read(shard)) !== undefined;
  }

  /** Writes the heartbeat now. */
  renew(): Promise<void> {
    return this.#rounds.now();
  }

  /** Milliseconds for which the lease is still valid; 0 when it is not. */
  get leftMs(): number {
    const state = this.#state;
    return state.kind === 'settled' ? this.#unexpiredMs(state.heartbeat) : 0;
  }

  /** Number of expiries that this process has noticed. */
  get lapses(): number {
    return this.#lapses;
  }

  get leaseMs(): number {
    return this.options.leaseMs;
  }

  get valid(): boolean {
    return this.leftMs > 0;
  }

  assertValid(): void {
    if (!this.valid) throw unavailable('the shard has lost touch with the cluster; retry shortly');
  }

  async #renew(): Promise<void> {
    const state = this.#state;
    if (state.kind === 'starting' || state.kind === 'ended') return;
    const { heartbeat } = state;
    const askedMs = this.clock.monotonicMs();
    try {
      const revision = await this.#write(heartbeat);
      if (revision !== undefined) this.#renewed(heartbeat, revision, askedMs);
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, 'the heartbeat did not go through');
    }
  }

  #renewed(heartbeat: StoredHeartbeat, revision: number, askedMs: number): void {
    const hadExpired = this.#unexpiredMs(heartbeat) === 0;
    heartbeat.revision = revision;
    heartbeat.renewedMs = askedMs;
    if (this.#state.kind === 'ended') return;
    if (hadExpired) {
      this.#lapses++;
      this.#state = { kind: 'unsettled', heartbeat, isRegaining: false };
    }
    if (this.#state.kind === 'unsettled') void this.#regain(this.#state);
  }

  /** Milliseconds for which this heartbeat keeps other shards from taking the collections. */
  #unexpiredMs({ renewedMs }: StoredHeartbeat): number {
    return Math.max(this.options.leaseMs - (this.clock.monotonicMs() - renewedMs), 0);
  }

  /** Calls `onRegain`, without delaying heartbeats. After a failure the next heartbeat calls it again. */
  async #regain(lapse: Unsettled): Promise<void> {
    if (lapse.isRegaining) return;
    lapse.isRegaining = true;
    try {
      await this.options.onRegain();
      // After another expiry the owners have to be read once more.
      if (this.#state === lapse) this.#state = { kind: 'settled', heartbeat: lapse.heartbeat };
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, 'what this shard owns is not known yet');
    } finally {
      lapse.isRegaining = false;
    }
  }

  /** Stores the heartbeat. Returns its revision; undefined if it was not stored by this call. */
  async #write(heartbeat: StoredHeartbeat): Promise<number | undefined> {
    const revision = await this.bucket.update(this.options.shard, this.#heartbeat(), heartbeat.revision);
    if (revision !== undefined) return revision;
    const entry = await this.bucket.get(this.options.shard);
    // The entry expired while this process could not renew: the name is free.
    if (entry === undefined) return this.bucket.create(this.options.shard, this.#heartbeat());
    if (heartbeatOf(entry).session === this.options.session) {
      // An earlier renewal succeeded although its answer was lost.
      heartbeat.revision = entry.revision;
      return undefined;
    }
    this.yield();
    return undefined;
  }

  #heartbeat(): BucketValue {
    return storedHeartbeat({ session: this.options.session, protocol: PROTOCOL_VERSION, ...this.options.load() });
  }
}
