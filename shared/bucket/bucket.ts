/** Interface of buckets: small, watched, replicated key-value state of the cluster outside of the logs. */
import { VouchError } from '../errors/errors.js';

const KEY = /^[A-Za-z0-9_=-]+(\.[A-Za-z0-9_=-]+)*$/;
const KEY_MAX_CHARS = 255;

/** The value of an entry: JSON, which an operator can read with the NATS CLI. */
export type BucketValue =
  | null
  | boolean
  | number
  | string
  | readonly BucketValue[]
  | { readonly [key: string]: BucketValue | undefined };

export interface Entry {
  readonly key: string;
  readonly value: BucketValue;
  /** Grows with every write of the bucket. */
  readonly revision: number;
}

/** `entry` is undefined if the key was deleted or has expired. That may be reported twice, or for a key that never existed. */
export interface Change {
  readonly key: string;
  readonly entry: Entry | undefined;
  /** Entries of the key up to this revision are gone; absent: all entries. */
  readonly endedUpTo?: number | undefined;
}

/**
 * Follows a bucket, and keeps a copy of it. `caughtUp` and `read` store a mark, and wait until the watch receives it. So a stale
 * replica cannot hide an entry from them. One mark serves all calls that were made before it is stored.
 */
export interface Watch {
  /**
   * Resolves when the listener has received every change stored before this call. Costs a write, or nothing in a bucket of one
   * process. Throws `unavailable` if that takes too long, or the watch is stopped.
   */
  caughtUp(): Promise<void>;
  /** The entry as of this call, from the copy once it has caught up. Throws like `caughtUp`. */
  read(key: string): Promise<Entry | undefined>;
  stop(): void;
}

/**
 * Keys: 1 to 255 of `[A-Za-z0-9_.=-]`, not beginning or ending with a dot. Every method throws
 * VouchError `unavailable` when the store cannot be reached or is closed.
 */
export interface Bucket {
  /** Reads an entry before an `update` or `delete` of its revision. A stale replica may answer an older entry. */
  get(key: string): Promise<Entry | undefined>;
  /**
   * Returns the new revision; undefined if the key exists. `isWanted` is called once no entry is found. If it returns false, or the
   * key is deleted or cleared meanwhile, `create` makes no entry and returns undefined.
   */
  create(key: string, value: BucketValue, isWanted?: () => Promise<boolean>): Promise<number | undefined>;
  /** Returns the new revision; undefined if the key's revision is no longer `revision`. */
  update(key: string, value: BucketValue, revision: number): Promise<number | undefined>;
  put(key: string, value: BucketValue): Promise<number>;
  /** A number above `above` that no other call for this key gets. Numbers grow, mostly by one. Costs a write. */
  next(key: string, above: number): Promise<number>;
  /** Deletes the entry, if any, and returns it. Writes even without an entry, so that a `create` in progress makes none. */
  clear(key: string): Promise<Entry | undefined>;
  /** Deletes the entry, of `revision` if that is given. Returns false if no such entry exists. */
  delete(key: string, revision?: number): Promise<boolean>;
  /**
   * Calls `listener` for every entry, resolves, and then calls it for every change, in order and without a gap, also after
   * a reconnect.
   */
  watch(listener: (change: Change) => void): Promise<Watch>;
}

/** Every entry of the bucket. Uses a watch, which reports them all before it resolves: a bucket has no list. */
export async function entriesOf(bucket: Bucket): Promise<Entry[]> {
  const entries = new Map<string, Entry>();
  const watch = await bucket.watch(({ key, entry }) => {
    if (entry === undefined) entries.delete(key);
    else entries.set(key, entry);
  });
  watch.stop();
  return [...entries.values()];
}

/** Throws `validation_error` for a malformed key. */
export function checkKey(key: string): void {
  if (key.length > KEY_MAX_CHARS || !KEY.test(key))
    throw new VouchError('validation_error', `${JSON.stringify(key)} is not a key of a bucket`);
}
