/** The keys that shards sign with, for coordinators to publish. Bucket key: the public key, 64 lowercase hex. */
import { type Bucket, type BucketValue, entriesOf } from '../bucket/bucket.js';
import type { Clock } from '../clock.js';
import { unavailable } from '../errors/errors.js';

interface SigningKeyRecord {
  /** Raw Ed25519 key as hex. */
  readonly publicKey: string;
  /** The names of the shards that have signed with it. */
  readonly shards: readonly string[];
  /** Time of its first use. */
  readonly sinceMs: number;
}

/** The stored form. */
export interface StoredSigner {
  readonly shards: readonly string[];
  readonly since_ms: number;
}

const ATTEMPTS = 16;

const FIELD = 2n ** 255n - 19n;
const SIGN = 1n << 255n;
const CURVE_D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/**
 * Whether this is a valid public key of a signer: an Ed25519 key in its canonical encoding (RFC 8032, section 5.1.3). The eight
 * keys of small order are invalid, since signatures under them can be forged: for them y⁴ = y², or d y⁴ + 2 y² = 1.
 */
export function isSignersKey(publicKey: string): boolean {
  if (!/^[0-9a-f]{64}$/.test(publicKey)) return false;
  const y = BigInt(`0x${Buffer.from(publicKey, 'hex').reverse().toString('hex')}`) % SIGN;
  const [square, fourth] = [y ** 2n % FIELD, y ** 4n % FIELD];
  return y < FIELD && fourth !== square && (CURVE_D * fourth + 2n * square) % FIELD !== 1n;
}

/** Registers that the shard signs with this key, which several shards may share. Returns whether that is new. */
export async function registerSigner(bucket: Bucket, publicKey: string, shard: string, clock: Clock): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const entry = await bucket.get(publicKey);
    if (entry === undefined) {
      if ((await bucket.create(publicKey, { shards: [shard], since_ms: clock.nowMs() })) !== undefined) return true;
      continue;
    }
    const { shards, since_ms } = entry.value as unknown as StoredSigner;
    if (shards.includes(shard)) return false;
    const value: BucketValue = { shards: [...shards, shard].sort(), since_ms };
    if ((await bucket.update(publicKey, value, entry.revision)) !== undefined) return true;
  }
  throw unavailable('the signing key could not be registered: others kept writing; start again');
}

/** Lists the other keys that a shard of this name has signed with, oldest first. */
export async function earlierKeysOf(bucket: Bucket, publicKey: string, shard: string): Promise<readonly string[]> {
  const signers = await listSigners(bucket);
  return signers.filter((key) => key.publicKey !== publicKey && key.shards.includes(shard)).map((key) => key.publicKey);
}

/** Lists all keys, oldest first. Reads the whole bucket. */
export async function listSigners(bucket: Bucket): Promise<readonly SigningKeyRecord[]> {
  const records = (await entriesOf(bucket)).map(({ key, value }) => {
    const { shards, since_ms } = value as unknown as StoredSigner;
    return { publicKey: key, shards, sinceMs: since_ms };
  });
  return records.sort((a, b) => a.sinceMs - b.sinceMs || (a.publicKey < b.publicKey ? -1 : 1));
}
