/** Who follows each collection: as many as are wanted, or as there are shards for; what is too many goes. Pure. */
import { followedLoads, type Loads, scatter } from './loads.js';
import { type PlacedCollection, type PlacementView, stayingShards } from './view.js';

export interface FollowersChange {
  readonly collectionId: number;
  readonly followers: readonly string[];
}

/** At most `most` of them. Nothing of what has no owner that lives, or is being moved: what a move needs is its own. */
export function planFollowers(view: PlacementView, most: number): FollowersChange[] {
  const staying = stayingShards(view).map(({ name }) => name);
  const loads = followedLoads(view);
  const changes: FollowersChange[] = [];
  for (const collection of view.collections) {
    if (changes.length === most) break;
    const { id, owner } = collection;
    if (owner === undefined || !view.live.has(owner) || view.moving.has(id)) continue;
    if (isAsWanted(collection, view)) continue;
    const followers = followersOf(collection, staying, loads, view);
    if (followers !== undefined) changes.push({ collectionId: id, followers });
  }
  return changes;
}

/** Of most collections nearly always, and cheap to tell. */
const isAsWanted = ({ id, owner, followers, followersWanted }: PlacedCollection, view: PlacementView): boolean =>
  followers.length === followersWanted &&
  followers.every(
    (shard) => shard !== owner && view.live.get(shard)?.leaving === false && !view.isMistrusted(shard, id),
  );

/** Undefined where nothing changes. */
function followersOf(
  collection: PlacedCollection,
  staying: readonly string[],
  loads: Loads,
  view: PlacementView,
): string[] | undefined {
  const { id, owner, followers, followersWanted } = collection;
  const able = staying.filter((shard) => shard !== owner && !view.isMistrusted(shard, id));
  const kept = followers
    .filter((shard) => able.includes(shard) || isAwaited(shard, collection, view))
    // Those that live are worth more.
    .sort((a, b) => Number(view.live.has(b)) - Number(view.live.has(a)))
    .slice(0, followersWanted);
  const fresh = able.filter((shard) => !kept.includes(shard));
  // Each time in another order, so that equals are not all the first one's followers.
  const order = new Map(fresh.map((shard, i) => [shard, scatter(id, i + 1)]));
  fresh.sort((a, b) => loads.count(a) - loads.count(b) || order.get(a)! - order.get(b)!);
  const added = fresh.slice(0, Math.max(0, followersWanted - kept.length));
  const wanted = [...kept, ...added];
  if (wanted.length === followers.length && wanted.every((shard) => followers.includes(shard))) return undefined;
  for (const shard of followers) loads.add(shard, -1);
  for (const shard of wanted) loads.add(shard, 1);
  return wanted;
}

/** It does not live, and is expected back: what it has on its disk is worth waiting for. */
const isAwaited = (shard: string, { id, owner }: PlacedCollection, view: PlacementView): boolean =>
  shard !== owner && !view.live.has(shard) && !view.isGone(shard) && !view.isMistrusted(shard, id);
