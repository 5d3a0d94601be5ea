/**
 * Refuses the writes of the largest projects before the store is full, so that one project cannot stop all:
 *
 *   below 85 %    every project writes
 *   from 85 % on  a project writes while it has less than its fair share: all reserved bytes, divided by the projects that have
 *                 any
 *   from 95 % on  nobody writes; the rest is for deletes and shreds, and for what the service itself writes: leases, keys,
 *                 revocations, the catalog
 */
import type { Bucket, Watch } from '../../shared/bucket/bucket.js';
import { messageOf, refusal } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { StoreRoom } from '../../shared/platform/platform.js';
import { reservedBytes } from '../../shared/registry/reservations.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';

const FAIR_FROM = 0.85;
const CLOSED_FROM = 0.95;

/** While there are writes, or some are refused. To ask how full JetStream is costs more than anything else that a shard does at rest. */
const SAMPLE_EVERY_MS = 1_000;
/** At rest, one in so many samples is taken. */
const SAMPLES_AT_REST = 10;

interface Options {
  /** The size of the store; 0: as large as `read` says. */
  readonly limitBytes: number;
  readonly read: () => Promise<StoreRoom>;
  readonly logger: Logger;
}

export class StoreGuard {
  readonly #sampling = new PeriodicTask(() => this.round(), SAMPLE_EVERY_MS);
  /** Project → the bytes that it has reserved, of all shards. */
  readonly #reserved = new Map<string, number>();
  #watch: Watch | undefined;
  #usedBytes = 0;
  /** Whether a write was asked for since the last sample, and how many were left out since. */
  #isAsked = false;
  #skipped = 0;
  /** 0: not known. */
  #limitBytes: number;

  constructor(private readonly options: Options) {
    this.#limitBytes = options.limitBytes;
  }

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

  get limitBytes(): number {
    return this.#limitBytes;
  }

  /** Whether writes of some or all projects are refused. */
  get isFull(): boolean {
    return this.#part >= FAIR_FROM;
  }

  /** Throws `capacity_exceeded`. */
  assertMayWrite(project: string): void {
    this.#isAsked = true;
    const part = this.#part;
    if (part < FAIR_FROM) return;
    const percent = Math.floor(100 * part);
    if (part >= CLOSED_FROM) throw refusal('capacity_exceeded', 'storeFull', { percent });
    if ((this.#reserved.get(project) ?? 0) < this.#reservedBytes / this.#reserved.size) return;
    throw refusal('capacity_exceeded', 'storeShare', { percent });
  }

  /** Samples where there are writes, or after enough rounds without. */
  async round(): Promise<void> {
    if (this.#isAsked || this.isFull || ++this.#skipped >= SAMPLES_AT_REST) await this.sample();
  }

  /** Reads how full the store is. What was known before stays where that fails. */
  async sample(): Promise<void> {
    const { options } = this;
    this.#isAsked = false;
    this.#skipped = 0;
    try {
      const { usedBytes, freeBytes } = await options.read();
      this.#usedBytes = usedBytes ?? this.#reservedBytes;
      this.#limitBytes = options.limitBytes || (freeBytes === undefined ? 0 : this.#usedBytes + freeBytes);
    } catch (error) {
      options.logger.warn({ error: messageOf(error) }, 'how full the store is could not be read');
    }
  }

  get #reservedBytes(): number {
    let sum = 0;
    for (const bytes of this.#reserved.values()) sum += bytes;
    return sum;
  }

  get #part(): number {
    return this.#limitBytes === 0 ? 0 : this.#usedBytes / this.#limitBytes;
  }
}
