/**
 * Refuses the writes of the largest projects before the store is full, so that one project cannot stop all.
 *
 *   Below 85 %    every project writes.
 *   From 85 % on  a project writes while it has less than its fair share: all reserved bytes / projects with any.
 *   From 95 % on  no project writes. The rest is for deletes, shreds and the service: leases, keys, the catalog.
 */
import type { Bucket, Watch } from '../../shared/bucket/bucket.js';
import { messageOf, refusal } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { StoreRoom } from '../../shared/platform/platform.js';
import { reservedBytes } from '../../shared/registry/reservations.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';

const FAIR_FROM = 0.85;
const CLOSED_FROM = 0.95;

/**
 * Time between samples while there are writes, or some are refused. To ask JetStream how full it is costs more than
 * anything else that a shard does at rest.
 */
const SAMPLE_EVERY_MS = 1_000;
/** At rest, one in this many samples is taken. */
const SAMPLES_AT_REST = 10;

interface Options {
  /** Size of the store; 0 for the size that `read` returns. */
  readonly limitBytes: number;
  readonly read: () => Promise<StoreRoom>;
  readonly logger: Logger;
}

export class StoreGuard {
  readonly #sampling = new PeriodicTask(() => this.round(), SAMPLE_EVERY_MS);
  /** Project → bytes that it has reserved, on all shards. */
  readonly #reserved = new Map<string, number>();
  #watch: Watch | undefined;
  #usedBytes = 0;
  /** Whether a write was requested since the last sample, and how many samples were skipped since. */
  #isAsked = false;
  #skipped = 0;
  /** Size of the store; 0 if it is not known. */
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

  /** Throws `capacity_exceeded` if the project's writes are refused. */
  assertMayWrite(project: string): void {
    this.#isAsked = true;
    const part = this.#part;
    if (part < FAIR_FROM) return;
    const percent = Math.floor(100 * part);
    if (part >= CLOSED_FROM) throw refusal('capacity_exceeded', 'storeFull', { percent });
    if ((this.#reserved.get(project) ?? 0) < this.#reservedBytes / this.#reserved.size) return;
    throw refusal('capacity_exceeded', 'storeShare', { percent });
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
    try {
      const { usedBytes, freeBytes } = await options.read();
      this.#usedBytes = usedBytes ?? this.#reservedBytes;
      this.#limitBytes = options.limitBytes || (freeBytes === undefined ? 0 : this.#usedBytes + freeBytes);
    } catch (error) {
      options.logger.warn({ error: messageOf(error) }, 'the use of the store could not be read');
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
