/** Past epochs of each collection, and its current followers, from the owners bucket. */
import type { Bucket, Change, Watch } from '../../../shared/bucket/bucket.js';
import { ownershipOf } from '../../../shared/registry/owners.js';

/** Number of latest epochs kept: older owners have long learned of the change. */
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

  /** Epochs, newest last. */
  of(collectionId: number): readonly number[] {
    return this.#epochs.get(collectionId) ?? [];
  }

  /** Current followers. */
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
