/**
 * All API keys by their hash: a copy of the key store, kept by watching it.
 *
 * An expired key stays expired even if the clock is set back. This process remembers it, and a note in the key's entry informs
 * other processes and later ones. All keys are checked every second, so that an unused key is noted in time too.
 */
import { LRUCache } from 'lru-cache';
import type { Bucket, Watch } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf, refusal } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { isExpired, KEYS_PER_PROJECT_MAX, type KeyRecord, keepExpired, keyRecord } from '../../shared/registry/keys.js';
import { Counts } from '../../shared/scheduling/counts.js';
import { noteWork } from '../../shared/scheduling/currentWork.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import { Slice } from '../../shared/scheduling/slice.js';

/** Largest number of hashes remembered as unknown. Bounds the memory and the store reads that a flood of wrong keys can cause. */
const ABSENT_MAX = 10_000;
const CHECK_EVERY_MS = 1_000;
/** Steps of a sweep that one expired key counts as: logging and noting it costs as much as checking so many other keys. */
const STEPS_OF_EXPIRED = 128;

export class Keyring {
  readonly #records = new Map<string, KeyRecord>();
  /** The number of key records of each project. */
  readonly #kept = new Counts<string>();
  readonly #absent = new LRUCache<string, true>({ max: ABSENT_MAX });
  /** Keys found expired here, with the time, until the store has the note. */
  readonly #expired = new Map<string, number>();
  /** Project → its new keys from this process that the watch has not reported yet. */
  readonly #unreported = new Map<string, number>();
  readonly #rounds = new PeriodicTask(() => this.#checkAll(), CHECK_EVERY_MS);
  #watch: Watch | undefined;

  private constructor(
    private readonly bucket: Bucket,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  static async open(bucket: Bucket, clock: Clock, logger: Logger): Promise<Keyring> {
    const keyring = new Keyring(bucket, clock, logger);
    keyring.#watch = await bucket.watch(({ key, entry }) => {
      const record = entry === undefined ? undefined : keyRecord(entry);
      if (record !== undefined) keyring.#absent.delete(key);
      keyring.#keep(key, record);
    });
    keyring.#rounds.start();
    return keyring;
  }

  find(hashHex: string): KeyRecord | undefined {
    return this.#records.get(hashHex);
  }

  /** Whether the key of this hash has expired; once true it stays true. */
  isExpired(hashHex: string, record: KeyRecord): boolean {
    if (record.expiresAtMs === null) return false;
    if (this.#expired.has(hashHex)) return true;
    const nowMs = this.clock.nowMs();
    if (!isExpired(record, nowMs)) return false;
    if (record.expiredAtMs === null) this.#noteExpired(hashHex, record, nowMs);
    return true;
  }

  isKnownAbsent(hashHex: string): boolean {
    return this.#absent.has(hashHex);
  }

  /** Reads the key from the store: it may have been created elsewhere a moment ago. */
  async read(hashHex: string): Promise<KeyRecord | undefined> {
    const entry = await this.#watch?.read(hashHex);
    if (entry !== undefined) return keyRecord(entry);
    this.#absent.set(hashHex, true);
    return undefined;
  }

  /**
   * Makes a key of the project. Throws `capacity_exceeded` at KEYS_PER_PROJECT_MAX. New keys of other coordinators count once the
   * watch reports them.
   */
  async make<T>(project: string, make: () => Promise<T>): Promise<T> {
    const unreported = this.#unreported.get(project) ?? 0;
    if (this.#kept.of(project) + unreported >= KEYS_PER_PROJECT_MAX)
      throw refusal('capacity_exceeded', 'apiKeys', { count: KEYS_PER_PROJECT_MAX });
    this.#unreported.set(project, unreported + 1);
    try {
      const made = await make();
      // Waits until the watch reports the key. If the watch fails, the key exists all the same.
      await this.#watch?.caughtUp().catch(() => undefined);
      return made;
    } finally {
      const left = (this.#unreported.get(project) ?? 1) - 1;
      if (left === 0) this.#unreported.delete(project);
      else this.#unreported.set(project, left);
    }
  }

  /** Ends a revoked key at once, before the watch reports it. */
  forget(hashHex: string): void {
    this.#keep(hashHex, undefined);
  }

  async close(): Promise<void> {
    this.#watch?.stop();
    await this.#rounds.stop();
  }

  /** Replaces the record of this hash; undefined removes it. */
  #keep(hashHex: string, record: KeyRecord | undefined): void {
    const before = this.#records.get(hashHex);
    if (before !== undefined) this.#kept.add(before.project, -1);
    if (record === undefined) {
      this.#records.delete(hashHex);
      return;
    }
    this.#records.set(hashHex, record);
    this.#kept.add(record.project, 1);
  }

  #noteExpired(hashHex: string, { id, project, expiresAtMs }: KeyRecord, nowMs: number): void {
    this.#expired.set(hashHex, nowMs);
    const expires = new Date(expiresAtMs as number).toISOString();
    this.logger.warn(
      { key: id, project, expires, now: new Date(nowMs).toISOString() },
      'an API key has expired for good',
    );
    void this.#rounds.now();
  }

  async #checkAll(): Promise<void> {
    noteWork('expiredKeys');
    const slice = new Slice(this.clock);
    for (const [hashHex, record] of this.#records)
      if (slice.step(this.isExpired(hashHex, record) ? STEPS_OF_EXPIRED : 1)) await slice.next();
    for (const [hashHex, atMs] of this.#expired)
      try {
        await keepExpired(this.bucket, hashHex, atMs);
        const record = this.#records.get(hashHex);
        if (record !== undefined) this.#keep(hashHex, { ...record, expiredAtMs: atMs });
        this.#expired.delete(hashHex);
      } catch (error) {
        this.logger.debug(
          { error: messageOf(error) },
          'expired keys are not noted in the store yet; the next check tries again',
        );
        return;
      }
  }
}
