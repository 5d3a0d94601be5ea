/**
 * Refuses the writes of the largest projects before the store is full, so that one project cannot stop all.
 *
 *   Below 85 %    every project writes.
 *   From 85 % on  a project writes while it has less than its fair share: all reserved bytes / projects with any.
 *   From 95 % on  no project writes. The rest is for deletes, shreds and the service: leases, keys, the catalog.
 *
 * A write is refused only by a sample that began after it, so that room that was just made counts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Watch } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf, refusal, type VouchError } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Platform } from '../../shared/platform/platform.js';
import { reservedBytes } from '../../shared/registry/reservations.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import { SharedRun } from '../../shared/scheduling/sharedRun.js';

const FAIR_FROM = 0.85;
const CLOSED_FROM = 0.95;

/**
 * Time between samples while there are writes, or some are refused. To ask JetStream how full it is costs more than
 * anything else that a shard does at rest.
 */
const SAMPLE_EVERY_MS = 1_000;
/** At rest, one in this many samples is taken. */
const SAMPLES_AT_REST = 10;
/** Least time between two samples that writes wait for. */
const SPACING_MS = 100;
/** Time for which the store counts as full after it has refused a write, unless it stores another one. */
const NO_ROOM_MS = 10_000;

interface Options {
  /** Most bytes that the store may hold; 0 without a bound. The store's own size bounds it too. */
  readonly limitBytes: number;
  readonly store: Pick<Platform, 'storeRoom' | 'refusesWrites'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class StoreGuard {
  readonly #sampling = new PeriodicTask(() => this.round(), SAMPLE_EVERY_MS);
  readonly #fresh = new SharedRun(() => this.#spacedSample());
  #sampledMs = Number.NEGATIVE_INFINITY;
  /** Time until which a failed write makes the store count as full. */
  #noRoomUntilMs = Number.NEGATIVE_INFINITY;
  /** Project → bytes that it has reserved, on all shards. */
  readonly #reserved = new Map<string, number>();
  #watch: Watch | undefined;
  #usedBytes = 0;
  /** Whether a write was requested since the last sample, and how many samples were skipped since. */
  #isAsked = false;
  #skipped = 0;
  /** Size of the store; infinite if it is not known. */
  #limitBytes = Number.POSITIVE_INFINITY;

  constructor(private readonly options: Options) {}

  /** `quota`: BUCKETS.quota. */
  async start(quota: Pick<Bucket, 'watch'>): Promise<void> {
    this.#watch = await quota.watch(({ key, entry }) => {
      const reserved = reservedBytes(key, entry);
      if (reserved === undefined) return;
      if (reserved.bytes === 0) this.#reserved.delete(reserved.project);
      else this.#reserved.set(reserved.project, reserved.bytes);
    });
    await this.sample();
    this.#sampling.start();
  }

  async stop(): Promise<void> {
    this.#watch?.stop();
    await this.#sampling.stop();
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Size of the store; 0 if it is not known. */
  get limitBytes(): number {
    return Number.isFinite(this.#limitBytes) ? this.#limitBytes : 0;
  }

  /** Whether writes of some or all projects are refused, or fail. */
  get isFull(): boolean {
    return this.#part >= FAIR_FROM || this.options.clock.monotonicMs() < this.#noRoomUntilMs;
  }

  /**
   * Undefined if the project may write. Otherwise samples again; the promise then resolves, or rejects with `capacity_exceeded`.
   */
  room(project: string): Promise<void> | undefined {
    this.#isAsked = true;
    if (this.#refusalOf(project) === undefined) return undefined;
    return this.#fresh.next().then(() => {
      const refused = this.#refusalOf(project);
      if (refused !== undefined) throw refused;
    });
  }

  /** Call it with the error of each failed write. */
  writeFailed(error: unknown): void {
    if (!causesOf(error).some((cause) => this.options.store.refusesWrites(cause))) return;
    this.#noRoomUntilMs = this.options.clock.monotonicMs() + NO_ROOM_MS;
    void this.#fresh.next();
  }

  /** Call it when a write is stored. */
  writeStored(): void {
    this.#noRoomUntilMs = Number.NEGATIVE_INFINITY;
  }

  #refusalOf(project: string): VouchError | undefined {
    const part = this.#part;
    if (part < FAIR_FROM) return undefined;
    const percent = Math.floor(100 * part);
    if (part >= CLOSED_FROM) return refusal('capacity_exceeded', 'storeFull', { percent });
    if ((this.#reserved.get(project) ?? 0) < this.#reservedBytes / this.#reserved.size) return undefined;
    return refusal('capacity_exceeded', 'storeShare', { percent });
  }

  /** Samples if there were writes, or after enough rounds without. */
  async round(): Promise<void> {
    if (this.#isAsked || this.isFull || ++this.#skipped >= SAMPLES_AT_REST) await this.sample();
  }

  /** Reads how full the store is. On failure the last known state stays. */
  async sample(): Promise<void> {
    const { options } = this;
    this.#isAsked = false;
    this.#skipped = 0;
    this.#sampledMs = options.clock.monotonicMs();
    try {
      const { usedBytes, freeBytes } = await options.store.storeRoom();
      this.#usedBytes = usedBytes ?? this.#reservedBytes;
      const sizeBytes = this.#usedBytes + (freeBytes ?? Number.POSITIVE_INFINITY);
      this.#limitBytes = Math.min(options.limitBytes || Number.POSITIVE_INFINITY, sizeBytes);
    } catch (error) {
      options.logger.warn({ error: messageOf(error) }, 'the use of the store could not be read');
    }
  }

  async #spacedSample(): Promise<void> {
    const sinceMs = this.options.clock.monotonicMs() - this.#sampledMs;
    if (sinceMs < SPACING_MS) await delay(SPACING_MS - sinceMs);
    await this.sample();
  }

  get #reservedBytes(): number {
    let sum = 0;
    for (const bytes of this.#reserved.values()) sum += bytes;
    return sum;
  }

  get #part(): number {
    return this.#limitBytes === 0 ? 1 : this.#usedBytes / this.#limitBytes;
  }
}

const causesOf = (error: unknown): Error[] => (error instanceof Error ? [error, ...causesOf(error.cause)] : []);
