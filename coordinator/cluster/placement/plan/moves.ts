/** Plans moves between live shards: away from leaving shards, and from more loaded to less loaded ones. Pure. */
import { type Loads, ownedLoads, scatter } from './loads.js';
import { type PlacedCollection, type PlacementView, stayingShards } from './view.js';

export interface Move {
  readonly collectionId: number;
  readonly from: string;
  readonly to: string;
}

/** At most `most` moves, those away from leaving shards first. A moving collection counts as moved. */
export function planMoves(view: PlacementView, most: number): Move[] {
  const loads = ownedLoads(view);
  const drains = planDrains(view, loads, most);
  return [...drains, ...planBalance(view, loads, most - drains.length)];
}

/** Moves everything away from leaving shards, even if one shard then has all. */
function planDrains(view: PlacementView, loads: Loads, most: number): Move[] {
  const staying = stayingShards(view).map(({ name }) => name);
  const moves: Move[] = [];
  if (staying.length === 0) return moves;
  for (const collection of view.collections) {
    if (moves.length === most) break;
    const { id, owner } = collection;
    if (owner === undefined || view.moving.has(id) || !view.live.get(owner)?.leaving) continue;
    const to = successorOf(collection, staying, loads, view);
    loads.add(owner, -1);
    loads.add(to, 1);
    moves.push({ collectionId: id, from: owner, to });
  }
  return moves;
}

/** The new owner: a follower, which is warm, if it has at most one collection more than the least loaded shard; else that shard. */
function successorOf(
  { id, followers }: PlacedCollection,
  staying: readonly string[],
  loads: Loads,
  view: PlacementView,
) {
  const least = loads.least(staying)!;
  const ready = staying.filter((shard) => followers.includes(shard) && !view.isMistrusted(shard, id));
  const readiest = loads.least(ready);
  return readiest !== undefined && loads.count(readiest) <= loads.count(least) + 1 ? readiest : least;
}

/** Moves from the most to the least loaded shard until they differ by one at most. */
function planBalance(view: PlacementView, loads: Loads, most: number): Move[] {
  const shards = stayingShards(view)
    .filter(({ settled }) => settled)
    .map(({ name }) => name);
  const moves: Move[] = [];
  const movable = new Map<string, PlacedCollection[]>();
  let givers = shards;
  while (moves.length < most) {
    const to = loads.least(shards);
    const from = fullest(givers, loads);
    if (to === undefined || from === undefined || loads.count(from) - loads.count(to) <= 1) break;
    if (!movable.has(from)) movable.set(from, movableOf(view, from));
    const collection = movable.get(from)!.pop();
    if (collection === undefined) {
      // No collection of this shard can move now.
      givers = givers.filter((shard) => shard !== from);
      continue;
    }
    loads.add(from, -1);
    loads.add(to, 1);
    moves.push({ collectionId: collection.id, from, to });
  }
  return moves;
}

const fullest = (shards: readonly string[], loads: Loads): string | undefined =>
  shards.reduce<string | undefined>(
    (best, shard) => (best === undefined || loads.count(shard) > loads.count(best) ? shard : best),
    undefined,
  );

/** Collections of the owner that can move; the last one moves first. */
const movableOf = ({ collections, moving }: PlacementView, owner: string): PlacedCollection[] =>
  collections
    .filter((one) => one.owner === owner && !one.resting && !moving.has(one.id))
    .sort((a, b) => scatter(a.id) - scatter(b.id) || a.id - b.id);
