/**
 * A token bucket as a single number: the moment it will be full again (the GCRA form, ITU-T I.371). A bucket nobody
 * touches needs no refilling, and asking changes nothing.
 */
import type { BucketRate } from '../../config/config.js';

export interface TokenBucket {
  /** Milliseconds in which one token grows. */
  readonly tokenMs: number;
  readonly burst: number;
  /** Monotonic milliseconds. At or before now: full. */
  fullAtMs: number;
}

/** Doubles in the billions are good to a microsecond; a token that is due is not refused for less. */
const ROUNDING_MS = 0.001;

export const fullBucket = ({ perMinute, burst }: BucketRate): TokenBucket => ({
  tokenMs: 60_000 / perMinute,
  burst,
  fullAtMs: Number.NEGATIVE_INFINITY,
});

export const untilFullMs = (bucket: TokenBucket, nowMs: number): number => Math.max(0, bucket.fullAtMs - nowMs);

/** Milliseconds until the bucket has a token; 0 where it has one now. */
export function waitMs(bucket: TokenBucket, nowMs: number): number {
  const wait = untilFullMs(bucket, nowMs) - (bucket.burst - 1) * bucket.tokenMs;
  return wait <= ROUNDING_MS ? 0 : wait;
}

/** Takes a token. Only where `waitMs` is 0. */
export function take(bucket: TokenBucket, nowMs: number): void {
  bucket.fullAtMs = nowMs + untilFullMs(bucket, nowMs) + bucket.tokenMs;
}

/** Takes what somebody else has given away already: at most what makes it empty. */
export function spend(bucket: TokenBucket, nowMs: number, tokens: number): void {
  const untilFull = untilFullMs(bucket, nowMs) + tokens * bucket.tokenMs;
  bucket.fullAtMs = nowMs + Math.min(untilFull, bucket.burst * bucket.tokenMs);
}

/** Another copy of the bucket is this far from full: the emptier of the two is right. */
export function learn(bucket: TokenBucket, nowMs: number, thereUntilFullMs: number): void {
  const untilFull = Math.max(untilFullMs(bucket, nowMs), thereUntilFullMs);
  bucket.fullAtMs = nowMs + Math.min(untilFull, bucket.burst * bucket.tokenMs);
}

/** Whole tokens left. */
export const remaining = (bucket: TokenBucket, nowMs: number): number =>
  Math.max(0, Math.floor(bucket.burst - (untilFullMs(bucket, nowMs) - ROUNDING_MS) / bucket.tokenMs));

/** Whole seconds, rounded up, until the bucket is full. */
export const resetSecs = (bucket: TokenBucket, nowMs: number): number => Math.ceil(untilFullMs(bucket, nowMs) / 1000);

/** Whole seconds after which a retry succeeds if nothing else came. */
export const retryAfterSecs = (wait: number): number => Math.max(1, Math.ceil(wait / 1000));
