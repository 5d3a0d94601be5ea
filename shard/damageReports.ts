import { DAMAGES_TOLD_MAX, type Damage, type DamagedPart } from '../shared/damage.js';

/** What this process found damaged since it started: the first of each part of each collection. */
export class DamageReports {
  readonly #found = new Map<string, Damage>();

  report(damage: Damage): void {
    const key = `${damage.collectionId} ${damage.part}`;
    if (!this.#found.has(key)) this.#found.set(key, damage);
  }

  /** What was damaged is not needed any more. */
  mended(collectionId: number | null, part: DamagedPart): void {
    this.#found.delete(`${collectionId} ${part}`);
  }

  /** The collection is not here any more. */
  forget(collectionId: number): void {
    for (const [key, damage] of this.#found) if (damage.collectionId === collectionId) this.#found.delete(key);
  }

  /** As many as may be told at once, by collection. */
  told(): Damage[] {
    const all = [...this.#found.values()].sort((one, other) => (one.collectionId ?? 0) - (other.collectionId ?? 0));
    return all.slice(0, DAMAGES_TOLD_MAX);
  }

  count(part: DamagedPart): number {
    return [...this.#found.values()].filter((damage) => damage.part === part).length;
  }
}
