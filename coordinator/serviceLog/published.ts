/**
 * The published part of the service log, which all coordinators serve. The bucket has three entries: the log's identity, the
 * newest checkpoint, and the newest checkpoint with cosignatures of a quorum.
 */
import type { Bucket, Watch } from '../../shared/bucket/bucket.js';
import { unavailable } from '../../shared/errors/errors.js';
import type { StoredCheckpoint, StoredIdentity } from '../../shared/registry/serviceLog.js';

export type PublishedAs = 'newest' | 'witnessed';

interface Known {
  readonly value: StoredCheckpoint;
  readonly revision: number;
}

export class Published {
  #identity: StoredIdentity | undefined;
  readonly #checkpoints = new Map<string, Known>();
  #watch: Watch | undefined;
  /** Called after each change. */
  onChange: () => void = () => {};

  /** `bucket`: BUCKETS.serviceLog. */
  constructor(private readonly bucket: Bucket) {}

  async start(): Promise<void> {
    this.#watch = await this.bucket.watch(({ key, entry }) => {
      if (key === 'identity') this.#identity = entry?.value as unknown as StoredIdentity | undefined;
      else if (entry === undefined) this.#checkpoints.delete(key);
      else this.#remember(key, entry.value as unknown as StoredCheckpoint, entry.revision);
      this.onChange();
    });
  }

  stop(): void {
    this.#watch?.stop();
  }

  /** Undefined before a coordinator with a key of the log has started. */
  get identity(): StoredIdentity | undefined {
    return this.#identity;
  }

  checkpoint(as: PublishedAs): StoredCheckpoint | undefined {
    return this.#checkpoints.get(as)?.value;
  }

  /** Entries of the larger checkpoint. One of the two may be lost. */
  get size(): number {
    return Math.max(0, ...[...this.#checkpoints.values()].map(({ value }) => value.size));
  }

  /** Sets the identity of a log without one. Returns the log's identity. */
  async identify(wanted: StoredIdentity): Promise<StoredIdentity> {
    if (this.#identity !== undefined) return this.#identity;
    const created = await this.bucket.create('identity', { ...wanted });
    const stored = created === undefined ? (await this.bucket.get('identity'))?.value : wanted;
    // A stale replica answered the read.
    if (stored === undefined) throw unavailable('the identity of the service log cannot be read now; retry shortly');
    this.#identity = stored as unknown as StoredIdentity;
    return this.#identity;
  }

  /** Replaces a checkpoint with a larger one, or adds cosignatures to it. False if another process was first. */
  async publish(as: PublishedAs, value: StoredCheckpoint): Promise<boolean> {
    const before = this.#checkpoints.get(as);
    const revision = await (before === undefined
      ? this.bucket.create(as, { ...value })
      : this.bucket.update(as, { ...value }, before.revision));
    if (revision === undefined) return false;
    this.#remember(as, value, revision);
    return true;
  }

  #remember(key: string, value: StoredCheckpoint, revision: number): void {
    const before = this.#checkpoints.get(key);
    if (before === undefined || before.revision < revision) this.#checkpoints.set(key, { value, revision });
  }
}
