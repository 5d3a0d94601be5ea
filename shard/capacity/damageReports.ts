import { DAMAGES_TOLD_MAX, type Damage, type DamagedPart } from '../../shared/model/damage.js';

/** The damage that this process has found: the first report for each part of each collection. */
export class DamageReports {
  readonly #found = new Map<string, Damage>();

  report(damage: Damage): void {
    const key = `${damage.collectionId} ${damage.part}`;
    if (!this.#found.has(key)) this.#found.set(key, damage);
  }

  /** Called when the damaged part is repaired, or not needed any more. */
  mended(collectionId: number | null, part: DamagedPart): void {
    this.#found.delete(`${collectionId} ${part}`);
  }

  /** Called when the collection is not on this shard any more. */
  forget(collectionId: number): void {
    for (const [key, damage] of this.#found) if (damage.collectionId === collectionId) this.#found.delete(key);
  }

  /** The reports for the heartbeat, which holds a bounded number, by collection. */
  reported(): Damage[] {
    const all = [...this.#found.values()].sort((one, other) => (one.collectionId ?? 0) - (other.collectionId ?? 0));
    return all.slice(0, DAMAGES_TOLD_MAX);
  }

  counts(): Record<DamagedPart, number> {
    const counts = { log: 0, vault: 0, opening: 0, snapshot: 0, index: 0, follower: 0 };
    for (const { part } of this.#found.values()) counts[part]++;
    return counts;
  }
}
