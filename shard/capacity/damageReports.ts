import { DAMAGES_REPORTED_MAX, type Damage, type DamagedPart } from '../../shared/model/damage.js';

/** The damage that this process has found: the first report for each part of each collection. */
export class DamageReports {
  readonly #found = new Map<string, Damage>();

  report(damage: Damage): void {
    const key = `${damage.collectionId} ${damage.part}`;
    if (!this.#found.has(key)) this.#found.set(key, damage);
  }

  /** Call it when the damaged part is repaired, or no longer needed. */
  mended(collectionId: number | null, part: DamagedPart): void {
    this.#found.delete(`${collectionId} ${part}`);
  }

  /** Call it when the collection is no longer on this shard. */
  forget(collectionId: number): void {
    for (const [key, damage] of this.#found) if (damage.collectionId === collectionId) this.#found.delete(key);
  }

  /** Returns the reports for the heartbeat, a bounded number, by collection. */
  reported(): Damage[] {
    const all = [...this.#found.values()].sort((one, other) => (one.collectionId ?? 0) - (other.collectionId ?? 0));
    return all.slice(0, DAMAGES_REPORTED_MAX);
  }

  counts(): Record<DamagedPart, number> {
    const counts = { log: 0, vault: 0, opening: 0, snapshot: 0, index: 0, follower: 0 };
    for (const { part } of this.#found.values()) counts[part]++;
    return counts;
  }
}
