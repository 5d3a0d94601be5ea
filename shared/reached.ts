/**
 * How far the log of a collection has reached, as it is stored outside of the log: JSON in snake_case, for the operator who
 * reads it with the NATS CLI. A log that ends before, or has another event there, is not the one that was written.
 */
import type { Entry, Json } from './bucket/bucket.js';

export interface Reached {
  /** Committed events, 1 at least. */
  readonly sequence: number;
  /** The chain head after the last of them, 64 lowercase hex. */
  readonly chainHead: string;
}

interface Stored {
  readonly sequence: number;
  readonly chain_head: string;
}

/** In BUCKETS.reached. */
export const reachedKey = (collectionId: number): string => String(collectionId);

export function reachedOf({ value }: Entry): Reached {
  const { sequence, chain_head } = value as unknown as Stored;
  return { sequence, chainHead: chain_head };
}

export const storedReached = ({ sequence, chainHead }: Reached): Json => ({ sequence, chain_head: chainHead });
