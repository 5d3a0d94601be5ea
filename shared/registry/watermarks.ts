/**
 * The watermark of a collection's log, stored outside of the log as snake_case JSON. A log that ends before it, or has another
 * event there, has lost or changed events.
 */
import type { BucketValue, Entry } from '../bucket/bucket.js';
import type { HeldBytes } from '../model/quotas.js';

export interface StoredWatermark {
  /** Number of committed events, at least 1. */
  readonly sequence: number;
  /** The chain head after the last of them, 64 lowercase hex. */
  readonly chainHead: string;
  /**
   * The content bytes of the collection after that event, so that it can be counted without being opened. Undefined in a watermark
   * from the middle of a commit or from an earlier version.
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
