/** A bucket in the memory of one process, for entries that need not survive it. */
import { type Clock, systemClock } from '../clock.js';
import { unavailable } from '../errors/errors.js';
import type { Logger } from '../logger.js';
import { type Bucket, type BucketValue, type Change, checkKey, type Entry, type Watch } from './bucket.js';
import { storable, Watchers } from './watchers.js';

interface StoredEntry {
  readonly entry: Entry;
  /** End of its life, on the monotonic clock. */
  readonly expiresMs: number;
}

interface MemoryBucketOptions {
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Entries vanish this long after their last write. */
  readonly ttlMs?: number;
}

export class MemoryBucket implements Bucket {
  /** In the order of expiry: a write moves its key to the end. */
  readonly #entries = new Map<string, StoredEntry>();
  readonly #watchers: Watchers;
  readonly #clock: Clock;
  readonly #ttlMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #revision = 0;
  #closed = false;

  constructor(options: MemoryBucketOptions) {
    this.#watchers = new Watchers(options.logger);
    this.#clock = options.clock ?? systemClock;
    this.#ttlMs = options.ttlMs;
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.#now(key);
  }

  async create(key: string, value: BucketValue, isWanted = async () => true): Promise<number | undefined> {
    if (!(await isWanted())) return undefined;
    return this.#now(key) === undefined ? this.#write(key, value) : undefined;
  }

  async update(key: string, value: BucketValue, revision: number): Promise<number | undefined> {
    return this.#now(key)?.revision === revision ? this.#write(key, value) : undefined;
  }

  async put(key: string, value: BucketValue): Promise<number> {
    this.#now(key);
    return this.#write(key, value);
  }

  async clear(key: string): Promise<Entry | undefined> {
    const found = this.#now(key);
    if (found !== undefined) this.#drop(key);
    return found;
  }

  async next(key: string, above: number): Promise<number> {
    const next = Math.max(((this.#now(key)?.value ?? 0) as number) + 1, above + 1);
    this.#write(key, next);
    return next;
  }

  async delete(key: string, revision?: number): Promise<boolean> {
    const found = this.#now(key);
    if (found === undefined || (revision !== undefined && found.revision !== revision)) return false;
    this.#drop(key);
    return true;
  }

  async watch(listener: (change: Change) => void): Promise<Watch> {
    this.#expire();
    return this.#watchers.add(
      [...this.#entries.values()].map(({ entry }) => entry),
      listener,
      { caughtUp: async () => {}, read: (key) => this.get(key) },
    );
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#watchers.clear();
    this.#entries.clear();
  }

  #now(key: string): Entry | undefined {
    checkKey(key);
    this.#expire();
    return this.#entries.get(key)?.entry;
  }

  #write(key: string, value: BucketValue): number {
    const entry: Entry = Object.freeze({ key, value: storable(value), revision: ++this.#revision });
    this.#entries.delete(key);
    this.#entries.set(key, { entry, expiresMs: this.#clock.monotonicMs() + (this.#ttlMs ?? Number.POSITIVE_INFINITY) });
    this.#schedule();
    this.#watchers.notify({ key, entry });
    return entry.revision;
  }

  #drop(key: string): void {
    const endedUpTo = this.#entries.get(key)?.entry.revision;
    this.#entries.delete(key);
    this.#watchers.notify({ key, entry: undefined, endedUpTo });
  }

  /** Drops expired entries. Throws if the bucket is closed. */
  #expire(): void {
    if (this.#closed) throw unavailable('the bucket is closed');
    if (this.#ttlMs === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { expiresMs }] of this.#entries) {
      if (expiresMs > nowMs) break;
      this.#drop(key);
    }
  }

  /** Sets the timer for the entry that expires next. */
  #schedule(): void {
    if (this.#ttlMs === undefined || this.#timer !== undefined) return;
    const [next] = this.#entries.values();
    if (next === undefined) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#expire();
        this.#schedule();
      },
      Math.max(1, next.expiresMs - this.#clock.monotonicMs()),
    ).unref();
  }
}
