/** Bounds failed authentications by client address. */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../shared/clock.js';
import { fullBucket, retryAfterSecs, type TokenBucket, take, waitMs } from './tokenBucket.js';

const ADDRESSES_MAX = 10_000;
const RATE = { perMinute: 60, burst: 120 };
/** Length of an IPv6 address, and of the prefix that identifies a client: a subscriber has at least a /64. */
const IPV6_BYTES = 16;
const IPV6_PREFIX_BYTES = 8;
/** `::ffff:a.b.c.d`: an IPv4 client at a dual-stack socket. */
const MAPPED_IPV4_PREFIX = '00000000000000000000ffff';

export class FailedAttempts {
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: ADDRESSES_MAX });

  constructor(private readonly clock: Clock) {}

  /** Counts one failure of the client at `address` (4 or 16 bytes). 0, or the whole seconds it has to wait. */
  take(address: ArrayBuffer): number {
    const client = clientOf(address);
    let bucket = this.#buckets.get(client);
    if (bucket === undefined) {
      bucket = fullBucket(RATE);
      this.#buckets.set(client, bucket);
    }
    const nowMs = this.clock.monotonicMs();
    const wait = waitMs(bucket, nowMs);
    if (wait > 0) return retryAfterSecs(wait);
    take(bucket, nowMs);
    return 0;
  }

  /** Uncounts an attempt whose key may be valid. */
  giveBack(address: ArrayBuffer): void {
    const bucket = this.#buckets.get(clientOf(address));
    if (bucket !== undefined) bucket.fullAtMs -= bucket.tokenMs;
  }
}

function clientOf(address: ArrayBuffer): string {
  const hex = Buffer.from(address).toString('hex');
  if (address.byteLength !== IPV6_BYTES) return hex;
  return hex.startsWith(MAPPED_IPV4_PREFIX)
    ? hex.slice(MAPPED_IPV4_PREFIX.length)
    : hex.slice(0, 2 * IPV6_PREFIX_BYTES);
}
