import type { Bucket } from '../../../shared/bucket/bucket.js';

/** A bucket under test, and further ways to open it. */
export interface BucketStore {
  /** A fresh, empty bucket. */
  readonly bucket: Bucket;
  /** The bucket from another process; missing if it belongs to one process. */
  peer?(): Promise<Bucket>;
  /** Closes the store and reopens it like a restarted process; missing if nothing needs to survive a restart. */
  restart?(): Promise<Bucket>;
  /** Closes the store of `bucket`. */
  close(): Promise<void>;
  /** Closes everything and erases the storage. */
  dispose(): Promise<void>;
}
