/**
 * Links new nodes, after Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
 * Hierarchical Navigable Small World graphs" (arXiv 1603.09320). Several threads may link at a time. Others see a node
 * only once it has its neighbours on all its levels, so that no search ends in it.
 */
import {
  distance,
  Graph,
  levelOf,
  listOf,
  lock,
  lockOf,
  neighboursOn,
  NO_NODE,
  unlock,
  vectorOf,
} from './graph';
import { addSorted, descend, distancesOf, nodeOf, search, Walk } from './graphWalk';

/** Links the next nodes, up to `most`; returns how many. Fewer than `most`: all are linked. */
export function linkNodes(graph: Graph, walk: Walk, most: u32): u32 {
  for (let linked: u32 = 0; linked < most; linked++) {
    const node = atomic.add<u32>(changetype<usize>(graph), 1, offsetof<Graph>('next'));
    if (node >= graph.count) return linked;
    link(graph, walk, node);
  }
  return most;
}

function link(graph: Graph, walk: Walk, node: u32): void {
  const entryAt = changetype<usize>(graph) + offsetof<Graph>('entry');
  const entry = atomic.load<u32>(entryAt);
  if (entry == NO_NODE) {
    atomic.store<u32>(entryAt, node);
    return;
  }
  const query = vectorOf(graph, node);
  const level = levelOf(graph, node);
  const top = levelOf(graph, entry);
  walk.query = u32(query);
  walk.width = graph.width;
  walk.most = graph.width;
  walk.takesAll = 1;
  let near = (u64(distance(graph, query, vectorOf(graph, entry))) << 32) | entry;
  for (let at = top; at > level; at--) near = descend(graph, query, near, at, walk.lanes);
  for (let at = i32(min(level, top)); at >= 0; at--) {
    search(graph, walk, u32(near), u32(near >> 32), at);
    const nearest = load<u64>(walk.entries);
    near = (nearest & 0xffff_ffff_0000_0000) | nodeOf(nearest);
    choose(graph, walk.entries, walk.count, graph.neighbours, listOf(graph, node, at));
  }
  for (let at: u32 = 0; at <= min(level, top); at++) {
    const list = listOf(graph, node, at);
    const count = load<u32>(list);
    for (let i: u32 = 1; i <= count; i++) connect(graph, walk, load<u32>(list + (usize(i) << 2)), node, at);
  }
  if (level <= top) return;
  lock(changetype<usize>(graph) + offsetof<Graph>('entryLock'));
  if (levelOf(graph, graph.entry) < level) atomic.store<u32>(entryAt, node);
  unlock(changetype<usize>(graph) + offsetof<Graph>('entryLock'));
}

/**
 * Writes a list of up to `most` of `count` sorted entries. If there are too many, it skips an entry that is nearer to a
 * chosen one than to the node (the paper's Algorithm 4).
 */
function choose(graph: Graph, entries: usize, count: u32, most: u32, list: usize): void {
  const taken = list + 4;
  let length: u32 = 0;
  for (let at: u32 = 0; at < count && length < most; at++) {
    const entry = load<u64>(entries + (usize(at) << 3));
    const node = nodeOf(entry);
    if (count > most && isNearerTo(graph, node, u32(entry >> 32), taken, length)) continue;
    store<u32>(taken + (usize(length) << 2), node);
    length++;
  }
  atomic.store<u32>(list, length);
}

@inline function isNearerTo(graph: Graph, node: u32, apart: u32, others: usize, count: u32): bool {
  const from = vectorOf(graph, node);
  for (let at: u32 = 0; at < count; at += 4) {
    const four = distancesOf(graph, from, others + (usize(at) << 2), count - at);
    if (v128.any_true(i32x4.lt_u(four, i32x4.splat(apart)))) return true;
  }
  return false;
}

/** Adds a neighbour to a node's list. If the list is full, chooses among the old and the new one. */
function connect(graph: Graph, walk: Walk, node: u32, neighbour: u32, level: u32): void {
  const lockAt = lockOf(graph, node);
  lock(lockAt);
  const list = listOf(graph, node, level);
  const count = load<u32>(list);
  const most = neighboursOn(graph, level);
  if (count < most) {
    store<u32>(list + (usize(count + 1) << 2), neighbour);
    atomic.store<u32>(list, count + 1);
  } else {
    const from = vectorOf(graph, node);
    const sorted: usize = walk.sorted;
    addSorted(sorted, 0, distance(graph, from, vectorOf(graph, neighbour)), neighbour);
    for (let at: u32 = 0; at < count; at += 4) {
      const nodes = list + 4 + (usize(at) << 2);
      const four = distancesOf(graph, from, nodes, count - at);
      v128.store(usize(walk.lanes), four);
      for (let lane: u32 = 0; lane < min<u32>(4, count - at); lane++) {
        const place = usize(lane) << 2;
        addSorted(sorted, at + lane + 1, load<u32>(usize(walk.lanes) + place), load<u32>(nodes + place));
      }
    }
    choose(graph, sorted, count + 1, most, list);
  }
  unlock(lockAt);
}
