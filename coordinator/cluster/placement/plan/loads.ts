/** Counts collections by shard during planning. Pure. */
import type { PlacementView } from './view.js';

export class Loads {
  readonly #counts = new Map<string, number>();

  count(shard: string): number {
    return this.#counts.get(shard) ?? 0;
  }

  add(shard: string, by: number): void {
    this.#counts.set(shard, this.count(shard) + by);
  }

  /** The least loaded of these shards, the first of equal ones; undefined without shards. */
  least(shards: Iterable<string>): string | undefined {
    let best: string | undefined;
    for (const shard of shards) if (best === undefined || this.count(shard) < this.count(best)) best = shard;
    return best;
  }
}

/** Collections by owner; a moving collection counts at its new owner. */
export function ownedLoads({ collections, moving }: PlacementView): Loads {
  const loads = new Loads();
  for (const { id, owner } of collections) {
    const holder = moving.get(id) ?? owner;
    if (holder !== undefined) loads.add(holder, 1);
  }
  return loads;
}

export function followedLoads({ collections }: PlacementView): Loads {
  const loads = new Loads();
  for (const { followers } of collections) for (const shard of followers) loads.add(shard, 1);
  return loads;
}

/** A hash of the id (the finaliser of MurmurHash3): an order by it spreads large and small collections alike. */
export function scatter(id: number, salt = 0): number {
  let h = (id ^ Math.imul(salt, 0x9e3779b1)) | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
