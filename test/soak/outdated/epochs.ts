/** The latest epochs of each collection, the current one included, and its followers, from the owners bucket. */
import type { Bucket, Change, Watch } from '../../../shared/bucket/bucket.js';
import { ownershipOf } from '../../../shared/registry/owners.js';

/** Epochs kept per collection. The owners of earlier ones have learned by then that another shard owns it. */
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

  /** Returns the latest epochs; the last one is the current one. */
  of(collectionId: number): readonly number[] {
    return this.#epochs.get(collectionId) ?? [];
  }

  /** Current followers. */
  followersOf(collectionId: number): readonly string[] {
    return this.#followers.get(collectionId) ?? [];
  }

  #changed({ key, entry }: Change): void {
    // A deleted collection keeps its epochs, so that its former owners are still asked.
    if (entry === undefined) return;
    const { epoch, followers } = ownershipOf(entry);
    this.#followers.set(Number(key), followers);
    const known = this.#epochs.get(Number(key)) ?? [];
    if (known.at(-1) !== epoch) known.push(epoch);
    this.#epochs.set(Number(key), known.slice(-KEPT));
  }
}
