/** The keys that shards sign with, so that any coordinator can name them. Key: the public key, 64 lowercase hex. */
import type { Bucket, Entry, Json } from './bucket/bucket.js';
import type { Clock } from './clock.js';
import { unavailable } from './errors.js';

export interface SigningKeyRecord {
  /** Ed25519, raw, as hex. */
  readonly publicKey: string;
  /** Shards that have signed with it, by name. */
  readonly shards: readonly string[];
  /** Of its first use. */
  readonly sinceMs: number;
}

/** As it lies in the store. */
export interface StoredSigner {
  readonly shards: readonly string[];
  readonly since_ms: number;
}

const ATTEMPTS = 16;

/**
 * Says that the shard signs with this key. Several shards of one machine may have the same. Answers whether it is new that
 * this one does.
 */
export async function registerSigner(bucket: Bucket, publicKey: string, shard: string, clock: Clock): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const entry = await bucket.get(publicKey);
    if (entry === undefined) {
      if ((await bucket.create(publicKey, { shards: [shard], since_ms: clock.nowMs() })) !== undefined) return true;
      continue;
    }
    const { shards, since_ms } = entry.value as unknown as StoredSigner;
    if (shards.includes(shard)) return false;
    const value: Json = { shards: [...shards, shard].sort(), since_ms };
    if ((await bucket.update(publicKey, value, entry.revision)) !== undefined) return true;
  }
  throw unavailable('the signing key could not be registered: others kept writing; start again');
}

/** Other keys that a shard of this name has signed with, oldest first. */
export async function earlierKeysOf(bucket: Bucket, publicKey: string, shard: string): Promise<readonly string[]> {
  const signers = await listSigners(bucket);
  return signers.filter((key) => key.publicKey !== publicKey && key.shards.includes(shard)).map((key) => key.publicKey);
}

/** Oldest first. Reads the whole bucket. */
export async function listSigners(bucket: Bucket): Promise<readonly SigningKeyRecord[]> {
  const records = new Map<string, SigningKeyRecord>();
  // A watch gives every entry before it resolves; nothing else of a bucket lists.
  const watch = await bucket.watch(({ key, entry }) => {
    if (entry !== undefined) records.set(key, recordOf(entry));
  });
  watch.stop();
  return [...records.values()].sort((a, b) => a.sinceMs - b.sinceMs || (a.publicKey < b.publicKey ? -1 : 1));
}

function recordOf({ key, value }: Entry): SigningKeyRecord {
  const { shards, since_ms } = value as unknown as StoredSigner;
  return { publicKey: key, shards, sinceMs: since_ms };
}
