/**
 * What the service log has published, for all coordinators to serve: an entry of the bucket for its identity, and one each for
 * the newest checkpoint and for the newest that a quorum of witnesses has cosigned.
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
      else this.#know(key, entry.value as unknown as StoredCheckpoint, entry.revision);
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

  /** Entries of the largest checkpoint. One of them may be lost without the other. */
  get size(): number {
    return Math.max(0, ...[...this.#checkpoints.values()].map(({ value }) => value.size));
  }

  /** Sets the identity if there is none. Returns the one that the log has. */
  async identify(wanted: StoredIdentity): Promise<StoredIdentity> {
    if (this.#identity !== undefined) return this.#identity;
    const created = await this.bucket.create('identity', { ...wanted });
    const stored = created === undefined ? (await this.bucket.get('identity'))?.value : wanted;
    // The server that was asked then leads no more.
    if (stored === undefined) throw unavailable('the identity of the service log cannot be read now; retry shortly');
    this.#identity = stored as unknown as StoredIdentity;
    return this.#identity;
  }

  /** Replaces a checkpoint by a larger one, or by the same with more cosignatures. False where another process was first. */
  async publish(as: PublishedAs, value: StoredCheckpoint): Promise<boolean> {
    const before = this.#checkpoints.get(as);
    const revision = await (before === undefined
      ? this.bucket.create(as, { ...value })
      : this.bucket.update(as, { ...value }, before.revision));
    if (revision === undefined) return false;
    this.#know(as, value, revision);
    return true;
  }

  #know(key: string, value: StoredCheckpoint, revision: number): void {
    const before = this.#checkpoints.get(key);
    if (before === undefined || before.revision < revision) this.#checkpoints.set(key, { value, revision });
  }
}
