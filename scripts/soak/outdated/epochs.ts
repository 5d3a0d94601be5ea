/** Under which epochs a collection was owned, as the owners bucket has told. */
import type { Bucket, Change, Watch } from '../../../shared/bucket/bucket.js';
import { ownershipOf } from '../../../shared/owners.js';

/** The latest ones are kept: older owners have long been told. */
const KEPT = 4;

export class Epochs {
  readonly #epochs = new Map<number, number[]>();
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

  #changed({ key, entry }: Change): void {
    if (entry === undefined) return;
    const { epoch } = ownershipOf(entry);
    const known = this.#epochs.get(Number(key)) ?? [];
    if (known.at(-1) !== epoch) known.push(epoch);
    this.#epochs.set(Number(key), known.slice(-KEPT));
  }
}
