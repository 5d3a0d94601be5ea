/** The keys that exist, by their hash: a copy of the key store, kept by watching it. */
import { LRUCache } from 'lru-cache';
import type { Bucket, Watch } from '../../shared/bucket/bucket.js';
import { type KeyRecord, keyRecord } from '../../shared/keys.js';

/** Hashes known to belong to no key. Bounds what a flood of wrong keys can hold and what it can ask of the store. */
const ABSENT_MAX = 10_000;

export class Keyring {
  readonly #records = new Map<string, KeyRecord>();
  readonly #absent = new LRUCache<string, true>({ max: ABSENT_MAX });
  #watch: Watch | undefined;

  private constructor(private readonly bucket: Bucket) {}

  static async open(bucket: Bucket): Promise<Keyring> {
    const keyring = new Keyring(bucket);
    keyring.#watch = await bucket.watch(({ key, entry }) => {
      const record = entry === undefined ? undefined : keyRecord(entry);
      if (record === undefined) {
        keyring.#records.delete(key);
        return;
      }
      keyring.#absent.delete(key);
      keyring.#records.set(key, record);
    });
    return keyring;
  }

  find(hashHex: string): KeyRecord | undefined {
    return this.#records.get(hashHex);
  }

  isKnownAbsent(hashHex: string): boolean {
    return this.#absent.has(hashHex);
  }

  /**
   * Asks the store about a hash the copy does not know: a key made a moment ago elsewhere. The answer is used once and
   * not kept, because only the watch knows the order of creation and revocation.
   */
  async read(hashHex: string): Promise<KeyRecord | undefined> {
    const entry = await this.bucket.get(hashHex);
    if (entry !== undefined) return keyRecord(entry);
    this.#absent.set(hashHex, true);
    return undefined;
  }

  /** A key revoked through this process ends here at once, before the watch says so. */
  forget(hashHex: string): void {
    this.#records.delete(hashHex);
  }

  close(): void {
    this.#watch?.stop();
  }
}
