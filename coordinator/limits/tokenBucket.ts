/** A token bucket as a single number, the time at which it is full again (GCRA, ITU-T I.371): it needs no refilling. */
import type { BucketRate } from '../../config/config.js';

export interface TokenBucket {
  /** Milliseconds per token. */
  readonly tokenMs: number;
  readonly burst: number;
  /** Monotonic milliseconds when the bucket is full again; a time in the past means full. */
  fullAtMs: number;
}

/** Tolerated rounding, the precision of doubles in the billions: a due token must not be refused for it. */
const ROUNDING_MS = 0.001;

export const fullBucket = ({ perMinute, burst }: BucketRate): TokenBucket => ({
  tokenMs: 60_000 / perMinute,
  burst,
  fullAtMs: Number.NEGATIVE_INFINITY,
});

export const untilFullMs = (bucket: TokenBucket, nowMs: number): number => Math.max(0, bucket.fullAtMs - nowMs);

/** Milliseconds until the bucket has a token; 0: it has one now. */
export function waitMs(bucket: TokenBucket, nowMs: number): number {
  const wait = untilFullMs(bucket, nowMs) - (bucket.burst - 1) * bucket.tokenMs;
  return wait <= ROUNDING_MS ? 0 : wait;
}

/** Takes a token. Only if `waitMs` is 0. */
export function take(bucket: TokenBucket, nowMs: number): void {
  bucket.fullAtMs = nowMs + untilFullMs(bucket, nowMs) + bucket.tokenMs;
}

/** Takes tokens for requests that another coordinator has admitted; an empty bucket stays empty. */
export function spend(bucket: TokenBucket, nowMs: number, tokens: number): void {
  const untilFull = untilFullMs(bucket, nowMs) + tokens * bucket.tokenMs;
  bucket.fullAtMs = nowMs + Math.min(untilFull, bucket.burst * bucket.tokenMs);
}

/** Merges another copy of the bucket: the emptier copy counts. */
export function learn(bucket: TokenBucket, nowMs: number, thereUntilFullMs: number): void {
  const untilFull = Math.max(untilFullMs(bucket, nowMs), thereUntilFullMs);
  bucket.fullAtMs = nowMs + Math.min(untilFull, bucket.burst * bucket.tokenMs);
}

/** Whole tokens left. */
export const remaining = (bucket: TokenBucket, nowMs: number): number =>
  Math.max(0, Math.floor(bucket.burst - (untilFullMs(bucket, nowMs) - ROUNDING_MS) / bucket.tokenMs));

/** Whole seconds, rounded up, until the bucket is full. */
export const resetSecs = (bucket: TokenBucket, nowMs: number): number => Math.ceil(untilFullMs(bucket, nowMs) / 1000);

/** Whole seconds after which a retry succeeds without other requests. */
export const retryAfterSecs = (wait: number): number => Math.max(1, Math.ceil(wait / 1000));
