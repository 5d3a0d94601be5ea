/** Plans the followers of each collection: the wanted number, or as many as shards allow. Pure. */
import type { Config } from '../../../../config/config.js';
import { followedLoads, type Loads, scatter } from './loads.js';
import { type PlacedCollection, type PlacementView, stayingShards } from './view.js';

export interface FollowersChange {
  readonly collectionId: number;
  readonly followers: readonly string[];
}

type FollowerCounts = Config['followers'];

/** The configured number of followers: that of the collection, of its project, or of all. */
export const followersWanted = (
  { count, projects, collections }: FollowerCounts,
  { project, name }: { readonly project: string; readonly name: string },
): number => (namesAny(collections) ? collections![`${project}/${name}`] : undefined) ?? projects?.[project] ?? count;

/** A check that saves building the full names of thousands of collections, which would be most of a placement round. */
function namesAny(counts: FollowerCounts['collections']): boolean {
  for (const _ in counts) return true;
  return false;
}

/** At most `most` changes. A collection without a live owner, or in a move, keeps its followers. */
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

/** A cheap check that nearly always holds. */
const isAsWanted = (
  { id, owner, followers, followersWanted: wanted }: PlacedCollection,
  view: PlacementView,
): boolean =>
  followers.length === wanted &&
  followers.every(
    (shard) => shard !== owner && view.live.get(shard)?.leaving === false && !view.isMistrusted(shard, id),
  );

/** The new followers of the collection; undefined if nothing changes. */
function followersOf(
  collection: PlacedCollection,
  staying: readonly string[],
  loads: Loads,
  view: PlacementView,
): string[] | undefined {
  const { id, owner, followers, followersWanted: count } = collection;
  const able = staying.filter((shard) => shard !== owner && !view.isMistrusted(shard, id));
  const kept = followers
    .filter((shard) => able.includes(shard) || isAwaited(shard, collection, view))
    // Live followers first.
    .sort((a, b) => Number(view.live.has(b)) - Number(view.live.has(a)))
    .slice(0, count);
  const fresh = able.filter((shard) => !kept.includes(shard));
  // Another order for each collection, so that equally loaded shards share the followers.
  const order = new Map(fresh.map((shard, i) => [shard, scatter(id, i + 1)]));
  fresh.sort((a, b) => loads.count(a) - loads.count(b) || order.get(a)! - order.get(b)!);
  const wanted = [...kept, ...fresh.slice(0, Math.max(0, count - kept.length))];
  if (wanted.length === followers.length && wanted.every((shard) => followers.includes(shard))) return undefined;
  for (const shard of followers) loads.add(shard, -1);
  for (const shard of wanted) loads.add(shard, 1);
  return wanted;
}

/** Whether the follower is away and expected back: its copy on disk is worth the wait. */
const isAwaited = (shard: string, { id, owner }: PlacedCollection, view: PlacementView): boolean =>
  shard !== owner && !view.live.has(shard) && !view.isGone(shard) && !view.isMistrusted(shard, id);
