/** Plans new owners for collections without an owner, or whose owner is lost. Pure. */
import { ownedLoads } from './loads.js';
import { type PlacementView, stayingShards } from './view.js';

export interface Home {
  readonly collectionId: number;
  readonly shard: string;
}

/** Each new owner is the least loaded live follower, which takes over without a replay; else the least loaded shard. */
export function planHomes(view: PlacementView): Home[] {
  const staying = stayingShards(view).map(({ name }) => name);
  if (staying.length === 0) return [];
  const loads = ownedLoads(view);
  const homes: Home[] = [];
  for (const { id, owner, followers } of view.collections) {
    if (owner !== undefined && !view.isLost(owner)) continue;
    const ready = staying.filter((shard) => followers.includes(shard) && !view.isMistrusted(shard, id));
    const shard = loads.least(ready.length > 0 ? ready : staying)!;
    loads.add(shard, 1);
    homes.push({ collectionId: id, shard });
  }
  return homes;
}
