/** Under which epochs a collection was owned, and who follows it, as the owners bucket has told. */
import type { Bucket, Change, Watch } from '../../../shared/bucket/bucket.js';
import { ownershipOf } from '../../../shared/registry/owners.js';

/** The latest ones are kept: older owners have long been told. */
const KEPT = 4;

export class Epochs {
  readonly #epochs = new Map<number, number[]>();
  readonly #followers = new Map<number, readonly string[]>();
  #watch: Watch | undefined;

  async start(owners: Bucket): Promise<void> {
    this.#watch = await owners.watch((change) => this.#changed(change));
  }

  stop(): void {
    this.#watch?.stop();
  }

  /** The newest last. */
  of(collectionId: number): readonly number[] {
    return this.#epochs.get(collectionId) ?? [];
  }

  /** The shards that follow it now. */
  followersOf(collectionId: number): readonly string[] {
    return this.#followers.get(collectionId) ?? [];
  }

  #changed({ key, entry }: Change): void {
    if (entry === undefined) return;
    const { epoch, followers } = ownershipOf(entry);
    this.#followers.set(Number(key), followers);
    const known = this.#epochs.get(Number(key)) ?? [];
    if (known.at(-1) !== epoch) known.push(epoch);
    this.#epochs.set(Number(key), known.slice(-KEPT));
  }
}
