/**
 * A shard's right to answer. It renews its heartbeat; while the last successful renewal is younger than the lease, no
 * coordinator can have given its collections to another shard, and its memory is current.
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
   * Called after the lease had expired and the heartbeat is stored again; the lease is valid again when it resolves. Other shards may
   * own the collections now.
   */
  readonly onRegain: () => Promise<void>;
  /** Called when another process runs under this shard's name. */
  readonly onTakenOver: () => void;
}

export class Lease {
  #revision: number | undefined;
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** How often the lease has expired, and up to which time it is known what this shard owns since. */
  #lapses = 0;
  #settled = 0;
  /** The lapse after which that is being found out. */
  #regaining: number | undefined;
  readonly #rounds: PeriodicTask;
  #takenOver = false;
  /** Follows the heartbeats, from the first question about another shard on. */
  #watch: Promise<Watch> | undefined;

  constructor(
    private readonly bucket: Bucket,
    private readonly options: LeaseOptions,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.#rounds = new PeriodicTask(() => this.#renew(), options.heartbeatMs);
  }

  /** Takes the shard's name, also from a process that still runs, which notices when it renews. */
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
    void this.#watch?.then((watch) => watch.stop()).catch(() => undefined);
    this.#renewedMs = Number.NEGATIVE_INFINITY;
  }

  /** Ends the lease for good: another process has the name, or is about to take it. */
  yield(): void {
    if (this.#takenOver) return;
    this.#takenOver = true;
    void this.#rounds.stop();
    this.#renewedMs = Number.NEGATIVE_INFINITY;
    this.options.onTakenOver();
  }

  /** Whether the shard of that name may have a lease: it has a heartbeat as of this call. */
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

  /** How long the lease is still valid; 0 when it has expired. */
  get leftMs(): number {
    return this.#settled === this.#lapses ? this.#heldMs : 0;
  }

  /** How often this process has noticed that the lease had expired. */
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
    if (this.#takenOver) return;
    const askedMs = this.clock.monotonicMs();
    try {
      const revision = await this.#write();
      if (revision === undefined) return;
      this.#revision = revision;
      if (this.#heldMs === 0) this.#lapses++;
      if (!this.#takenOver) this.#renewedMs = askedMs;
      if (this.#settled !== this.#lapses) void this.#regain();
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, 'the heartbeat did not go through');
    }
  }

  /** How long the heartbeat that was stored last keeps others from taking the collections. */
  get #heldMs(): number {
    return Math.max(this.options.leaseMs - (this.clock.monotonicMs() - this.#renewedMs), 0);
  }

  /** Heartbeats go on meanwhile. Where it fails, the next one begins it again. */
  async #regain(): Promise<void> {
    const lapses = this.#lapses;
    if (this.#regaining === lapses) return;
    this.#regaining = lapses;
    try {
      await this.options.onRegain();
      this.#settled = Math.max(this.#settled, lapses);
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, 'what this shard owns is not known yet');
    } finally {
      if (this.#regaining === lapses) this.#regaining = undefined;
    }
  }

  async #write(): Promise<number | undefined> {
    const revision = await this.bucket.update(this.options.shard, this.#heartbeat(), this.#revision ?? 0);
    if (revision !== undefined) return revision;
    const entry = await this.bucket.get(this.options.shard);
    // The entry expired while this process could not renew: the name is free.
    if (entry === undefined) return this.bucket.create(this.options.shard, this.#heartbeat());
    if (heartbeatOf(entry).session === this.options.session) {
      // An earlier renewal succeeded although its answer was lost.
      this.#revision = entry.revision;
      return undefined;
    }
    this.yield();
    return undefined;
  }

  #heartbeat(): BucketValue {
    return storedHeartbeat({ session: this.options.session, protocol: PROTOCOL_VERSION, ...this.options.load() });
  }
}
