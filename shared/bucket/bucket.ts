/** Small, watched, replicated key-value state: what the cluster agrees on outside of the logs. */

/** JSON, so that an operator can read it with the NATS CLI. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export interface Entry {
  readonly key: string;
  readonly value: Json;
  /** Grows with every write of the bucket. */
  readonly revision: number;
}

/** `entry` is undefined where the key was deleted or has expired. */
export interface Change {
  readonly key: string;
  readonly entry: Entry | undefined;
}

export interface Watch {
  stop(): void;
}

/**
 * Keys: 1 to 255 of `[A-Za-z0-9_.=-]`, not beginning or ending with a dot. Every method throws
 * VouchError `unavailable` when the store cannot be reached or is closed.
 */
export interface Bucket {
  get(key: string): Promise<Entry | undefined>;
  /** The new revision, or undefined where the key exists. */
  create(key: string, value: Json): Promise<number | undefined>;
  /** The new revision, or undefined where the key's revision is no longer `revision`. */
  update(key: string, value: Json, revision: number): Promise<number | undefined>;
  put(key: string, value: Json): Promise<number>;
  /**
   * Whether there is no such entry, for sure: `get` may be answered by a server that has lost its lead and does not know of
   * an entry that is new. Costs a write; for what is erased for good.
   */
  isAbsent(key: string): Promise<boolean>;
  /** False where there was nothing to delete. */
  delete(key: string): Promise<boolean>;
  /**
   * Calls `listener` for every entry there is, resolves, and then calls it for every change, in order.
   * Nothing between the two is missed. After a reconnect it goes on without a gap.
   */
  watch(listener: (change: Change) => void): Promise<Watch>;
}
