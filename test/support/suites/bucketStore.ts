import type { Bucket } from '../../../shared/bucket/bucket.js';

/** A bucket of a test, and how to reach it otherwise. */
export interface BucketStore {
  /** A fresh, empty bucket. */
  readonly bucket: Bucket;
  /** The same bucket as another process sees it; absent where it belongs to one process. */
  peer?(): Promise<Bucket>;
  /** Closes the store and opens it again, as a restart of the process does; absent where nothing need survive it. */
  restart?(): Promise<Bucket>;
  /** Closes the store that `bucket` came from. */
  close(): Promise<void>;
  /** Closes everything and erases the storage. */
  dispose(): Promise<void>;
}
