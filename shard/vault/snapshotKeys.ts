/**
 * The keys of the contents in one snapshot: HMAC-SHA256 under a data key over the salt of the snapshot. So a shred of the data
 * key leaves nothing that opens a content, and a content cannot be opened with the key of another snapshot.
 */
import { createHmac } from 'node:crypto';
import { writeU64 } from '../../shared/hashing/u64.js';
import { HASH_BYTES, NONCE_BYTES } from '../../shared/limits.js';
import { type GcmKey, gcmDecrypt, gcmEncryptWith } from '../../shared/vault/aesGcm.js';

/** Size of the salt, which is random: no other snapshot has it. */
export const SNAPSHOT_SALT_BYTES = 32;
const ID_BYTES = 8;

/** The data keys in memory. */
export interface OpenDataKeys {
  /** Reads keys that are not in memory. Throws errors of their source. */
  fetch(keyIds: readonly string[]): Promise<void>;
  /** Returns undefined if the key is gone. */
  get(keyId: string): GcmKey | undefined;
}

/** A record under a key; `contentHash`: its commitment, which its ciphertext is bound to. */
interface Committed {
  readonly id: number;
  readonly keyId: string;
  readonly contentHash: string;
}

export class SnapshotKeys {
  readonly #derived = new Map<string, Buffer>();

  constructor(
    readonly salt: Uint8Array,
    private readonly open: OpenDataKeys,
  ) {}

  fetch(keyIds: readonly string[]): Promise<void> {
    return this.open.fetch(keyIds);
  }

  /** Encrypts the contents of records under one key, none of which was in another call. Returns undefined if the key is gone. */
  encrypt(records: readonly Committed[], contents: Uint8Array): Uint8Array | undefined {
    return this.#with(records, (key, nonce) => gcmEncryptWith(nonce, contents, key));
  }

  /** Returns undefined if the key is gone. Throws an Error if the contents were not encrypted for these records. */
  decrypt(records: readonly Committed[], ciphertext: Uint8Array): Uint8Array | undefined {
    return this.#with(records, (key, nonce) => gcmDecrypt(nonce, ciphertext, key));
  }

  /** Overwrites the keys. */
  close(): void {
    for (const key of this.#derived.values()) key.fill(0);
    this.#derived.clear();
  }

  #with<T>(records: readonly Committed[], work: (key: GcmKey, nonce: Uint8Array) => T): T | undefined {
    const { id: firstId, keyId } = records[0]!;
    const dataKey = this.open.get(keyId);
    if (dataKey === undefined) return undefined;
    // A snapshot has each id once, so no nonce is used twice.
    const nonce = new Uint8Array(NONCE_BYTES);
    writeU64(new DataView(nonce.buffer), 0, firstId);
    const associated = Buffer.alloc(dataKey.associated.length + records.length * (ID_BYTES + HASH_BYTES));
    associated.set(dataKey.associated);
    let at = dataKey.associated.length;
    for (const { id, contentHash } of records) {
      at = associated.writeDoubleLE(id, at);
      at += associated.write(contentHash, at, 'latin1');
    }
    return work({ bytes: this.#keyOf(keyId, dataKey.bytes), associated }, nonce);
  }

  #keyOf(keyId: string, dataKey: Uint8Array): Buffer {
    const before = this.#derived.get(keyId);
    if (before !== undefined) return before;
    const key = createHmac('sha256', dataKey).update(this.salt).digest();
    this.#derived.set(keyId, key);
    return key;
  }
}
