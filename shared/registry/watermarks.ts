/**
 * The high-water mark of a collection's log, stored outside of the log as snake_case JSON. A log that ends before it, or has
 * another event there, is not the one that was written.
 */
import type { BucketValue, Entry } from '../bucket/bucket.js';
import type { HeldBytes } from '../model/quotas.js';

export interface StoredWatermark {
  /** Committed events, 1 at least. */
  readonly sequence: number;
  /** The chain head after the last of them, 64 lowercase hex. */
  readonly chainHead: string;
  /**
   * What the collection held after that event, so that it is counted without being opened. Undefined: not known, as a note made
   * in the middle of a commit or by an earlier version leaves it out.
   */
  readonly held?: HeldBytes | undefined;
}

interface Stored {
  readonly sequence: number;
  readonly chain_head: string;
  readonly held_bytes?: HeldBytes;
}

/** The key in BUCKETS.watermarks. */
export const watermarkKey = (collectionId: number): string => String(collectionId);

export function watermarkOf({ value }: Entry): StoredWatermark {
  const { sequence, chain_head, held_bytes } = value as unknown as Stored;
  return { sequence, chainHead: chain_head, held: held_bytes };
}

export const storedWatermark = ({ sequence, chainHead, held }: StoredWatermark): BucketValue => ({
  sequence,
  chain_head: chainHead,
  ...(held && { held_bytes: held }),
});
