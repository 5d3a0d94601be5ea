/**
 * Searches a graph (Algorithm 2 of the paper in `graphLink.ts`): expands the nearest known nodes until they lead to no
 * nearer one. It expands two at a time, so that the processor fetches the vectors of all their neighbours at once.
 */
import { distance, distances, Graph, listOf, levelOf, neighboursOn, NO_NODE, slotOf, vectorOf } from './graph';
import { LINE_BYTES } from './lanes';

/** Scratch of a search. The host gives addresses and sizes, and reads what is found. */
@unmanaged
export class Walk {
  /** Address of the query, encoded like the graph's vectors. */
  query: u32;
  /** Eligible nodes to find (ef), and largest number of nodes of any kind to keep meanwhile. */
  width: u32;
  most: u32;
  /** Non-zero if every node is eligible. */
  takesAll: u32;
  /** Address of a bitmap of the eligible slots, and its bits. 0: nodes that have a slot are eligible. */
  bitmap: u32;
  bits: u32;
  /** Nearest nodes so far, and how many of them are eligible. */
  count: u32;
  eligible: u32;
  /** No entry before this place is left to expand. */
  first: u32;
  /** Addresses of room: `most` + 1 entries, 2m + 1 entries, 4m + 4 nodes, four distances, and a bit per node. */
  entries: u32;
  sorted: u32;
  fresh: u32;
  lanes: u32;
  visited: u32;
  visitedBytes: u32;
}

/** Slot of a node that represents several rows. It is eligible. */
const SEVERAL: u32 = 0xffff_fffe;
const NO_SLOT: u32 = 0xffff_ffff;

/** Nodes that are expanded together. */
const AT_ONCE: u32 = 2;

/** An entry is distance * 2^32 + node, with these two marks. */
const EXPANDED: u64 = 0x8000_0000;
const ELIGIBLE: u64 = 0x4000_0000;
const MARKS: u64 = EXPANDED | ELIGIBLE;
const NODE: u64 = 0x3fff_ffff;

@inline export function nodeOf(entry: u64): u32 {
  return u32(entry & NODE);
}

@inline function entryAt(entries: usize, at: u32): usize {
  return entries + (usize(at) << 3);
}

function isEligible(graph: Graph, walk: Walk, node: u32): bool {
  if (walk.takesAll) return true;
  const slot = slotOf(graph, node);
  if (slot == NO_SLOT) return false;
  if (slot == SEVERAL || walk.bitmap == 0) return true;
  return slot < walk.bits && ((load<u8>(usize(walk.bitmap) + (slot >> 3)) >> (slot & 7)) & 1) != 0;
}

/** Makes room for an entry among `count` sorted ones, and returns its address. */
@inline function placeFor(entries: usize, count: u32, entry: u64): usize {
  let low: u32 = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((load<u64>(entryAt(entries, middle)) & ~MARKS) < entry) low = middle + 1;
    else high = middle;
  }
  const place = entryAt(entries, low);
  let from = entryAt(entries, count);
  while (from >= place + 16) {
    from -= 16;
    v128.store(from, v128.load(from), 8);
  }
  if (from > place) store<u64>(place, load<u64>(place), 8);
  return place;
}

/** Inserts an entry into `count` sorted ones. */
@inline export function addSorted(entries: usize, count: u32, distance: u32, node: u32): void {
  const entry = (u64(distance) << 32) | node;
  store<u64>(placeFor(entries, count, entry), entry);
}

/** Distance of the last entry that counts: a node that is not nearer is dropped. */
@inline function worst(walk: Walk): u32 {
  if (walk.eligible < walk.width && walk.count < walk.most) return 0xffff_ffff;
  return load<u32>(entryAt(walk.entries, walk.count - 1), 4);
}

function enter(graph: Graph, walk: Walk, distance: u32, node: u32): void {
  const entry = (u64(distance) << 32) | node;
  const place = placeFor(walk.entries, walk.count, entry);
  const eligible = isEligible(graph, walk, node);
  store<u64>(place, eligible ? entry | ELIGIBLE : entry);
  const at = u32((place - usize(walk.entries)) >> 3);
  if (at < walk.first) walk.first = at;
  let count = walk.count + 1;
  let found = walk.eligible + u32(eligible);
  // Drop entries behind the last eligible one that is wanted: they lead nowhere.
  for (; ; count--) {
    const last = u32((load<u64>(entryAt(walk.entries, count - 1)) & ELIGIBLE) != 0);
    if (count <= walk.most && found + 1 - last <= walk.width) break;
    found -= last;
  }
  walk.count = count;
  walk.eligible = found;
}

/** Adds the unvisited neighbours of a list to `count` fresh nodes, marks them as visited, and returns the new count. */
@inline function addFresh(walk: Walk, count: u32, list: usize): u32 {
  const end = list + 4 + (usize(atomic.load<u32>(list)) << 2);
  const visited: usize = walk.visited;
  let to = usize(walk.fresh) + (usize(count) << 2);
  for (let at = list + 4; at < end; at += 4) {
    const node = load<u32>(at);
    const word = visited + ((node >> 5) << 2);
    const bits = load<u32>(word);
    const bit = <u32>1 << (node & 31);
    store<u32>(to, node);
    to += usize((bits & bit) == 0) << 2;
    store<u32>(word, bits | bit);
  }
  return u32((to - usize(walk.fresh)) >> 2);
}

/**
 * Reads some words of the vectors of nodes, so that the processor fetches them all at once. It fetches what follows by itself.
 * Stores a sum at `sink`, or the compiler would leave the reads out.
 */
@inline function fetch(graph: Graph, nodes: usize, count: u32, sink: usize): void {
  const last: usize = graph.vectorBytes - 4;
  const second = min<usize>(LINE_BYTES, last);
  const third = min<usize>(2 * LINE_BYTES - 4, last);
  let sum: u32 = 0;
  for (let at = nodes; at < nodes + (usize(count) << 2); at += 4) {
    const vector = vectorOf(graph, load<u32>(at));
    sum += load<u32>(vector) + load<u32>(vector + second) + load<u32>(vector + third);
  }
  store<u32>(sink, sum);
}

/** Returns the distances of four nodes from address `at` on. Only the first `left` of them exist. */
@inline export function distancesOf(graph: Graph, from: usize, at: usize, left: u32): v128 {
  const a = load<u32>(at);
  const b = left > 1 ? load<u32>(at, 4) : a;
  const c = left > 2 ? load<u32>(at, 8) : a;
  const d = left > 3 ? load<u32>(at, 12) : a;
  return distances(graph, from, vectorOf(graph, a), vectorOf(graph, b), vectorOf(graph, c), vectorOf(graph, d));
}

/** Reads the lists of the nodes that are the next to be expanded if no nearer ones are found. See `fetch`. */
@inline function fetchLists(graph: Graph, walk: Walk, level: u32): void {
  const second = min<usize>(LINE_BYTES, usize(neighboursOn(graph, level)) << 2);
  const end = min(walk.count, walk.first + AT_ONCE);
  let sum: u32 = 0;
  for (let at = walk.first; at < end; at++) {
    const list = listOf(graph, nodeOf(load<u64>(entryAt(walk.entries, at))), level);
    sum += load<u32>(list) + load<u32>(list + second);
  }
  store<u32>(walk.lanes, sum);
}

/** Finds the nearest nodes of a level, from node `start` at distance `startDistance`. */
export function search(graph: Graph, walk: Walk, start: u32, startDistance: u32, level: u32): void {
  begin(graph, walk, start, startDistance);
  advance(graph, walk, level, 0xffff_ffff);
}

function begin(graph: Graph, walk: Walk, start: u32, startDistance: u32): void {
  walk.count = 0;
  walk.eligible = 0;
  walk.first = 0;
  memory.fill(walk.visited, 0, walk.visitedBytes);
  const word = usize(walk.visited) + ((start >> 5) << 2);
  store<u32>(word, <u32>1 << (start & 31));
  enter(graph, walk, startDistance, start);
}

/** Visits `most` more nodes or a few more. Returns whether the walk is finished. */
function advance(graph: Graph, walk: Walk, level: u32, most: u32): bool {
  let left = most;
  while (true) {
    let first = walk.first;
    let expanded: u32 = 0;
    let fresh: u32 = 0;
    for (; first < walk.count && expanded < AT_ONCE; first++) {
      const entry = load<u64>(entryAt(walk.entries, first));
      if ((entry & EXPANDED) != 0) continue;
      if (left == 0) return false;
      store<u64>(entryAt(walk.entries, first), entry | EXPANDED);
      fresh = addFresh(walk, fresh, listOf(graph, nodeOf(entry), level));
      expanded++;
    }
    if (expanded == 0) return true;
    walk.first = first;
    fetch(graph, walk.fresh, fresh, walk.lanes);
    fetchLists(graph, walk, level);
    left = fresh < left ? left - fresh : 0;
    for (let at: u32 = 0; at < fresh; at += 4) {
      const four = distancesOf(graph, walk.query, usize(walk.fresh) + (usize(at) << 2), fresh - at);
      let near = u32(i32x4.bitmask(i32x4.lt_u(four, i32x4.splat(worst(walk)))));
      if (fresh - at < 4) near &= (<u32>1 << (fresh - at)) - 1;
      if (near == 0) continue;
      v128.store(usize(walk.lanes), four);
      for (; near != 0; near &= near - 1) {
        const lane = ctz(near);
        const apart = load<u32>(usize(walk.lanes) + (usize(lane) << 2));
        if (apart >= worst(walk)) continue;
        enter(graph, walk, apart, load<u32>(usize(walk.fresh) + (usize(at + lane) << 2)));
      }
    }
  }
}

/**
 * Moves from a node to its nearest neighbour on a level while that is nearer to the query. Returns distance * 2^32 + node. See
 * `fetch` for `sink`.
 */
export function descend(graph: Graph, query: usize, near: u64, level: u32, sink: usize): u64 {
  let nearest = near;
  let best: u64;
  do {
    best = nearest;
    const list = listOf(graph, u32(best), level);
    const count = atomic.load<u32>(list);
    fetch(graph, list + 4, count, sink);
    for (let at: u32 = 0; at < count; at += 4) {
      const from = list + 4 + (usize(at) << 2);
      const left = count - at;
      // Read once: another thread may change the list.
      const a = load<u32>(from);
      const b = left > 1 ? load<u32>(from, 4) : a;
      const c = left > 2 ? load<u32>(from, 8) : a;
      const d = left > 3 ? load<u32>(from, 12) : a;
      const four = distances(graph, query, vectorOf(graph, a), vectorOf(graph, b), vectorOf(graph, c), vectorOf(graph, d));
      nearest = min(nearest, (u64(u32(i32x4.extract_lane(four, 0))) << 32) | a);
      nearest = min(nearest, (u64(u32(i32x4.extract_lane(four, 1))) << 32) | b);
      nearest = min(nearest, (u64(u32(i32x4.extract_lane(four, 2))) << 32) | c);
      nearest = min(nearest, (u64(u32(i32x4.extract_lane(four, 3))) << 32) | d);
    }
  } while (nearest >> 32 < best >> 32);
  return best;
}

/** Result of a walk that has visited as many nodes as it may; `continueWalk` continues it. */
const UNFINISHED: u32 = 0xffff_ffff;

/**
 * Finds the nearest nodes of the whole graph and returns how many, nearest first in `entries`. Visits `most` nodes of
 * the lowest level or a few more; returns `UNFINISHED` if more are left.
 */
export function walkGraph(graph: Graph, walk: Walk, most: u32): u32 {
  const entry = graph.entry;
  if (entry == NO_NODE) return 0;
  let near = (u64(distance(graph, walk.query, vectorOf(graph, entry))) << 32) | entry;
  for (let level = levelOf(graph, entry); level > 0; level--)
    near = descend(graph, walk.query, near, level, walk.lanes);
  begin(graph, walk, u32(near), u32(near >> 32));
  return continueWalk(graph, walk, most);
}

/** Continues an unfinished walk, with the result of `walkGraph`. Nodes may have been added since. */
export function continueWalk(graph: Graph, walk: Walk, most: u32): u32 {
  if (!advance(graph, walk, 0, most)) return UNFINISHED;
  // Drop nodes that are not eligible: they were kept only as a way to others.
  let to: usize = walk.entries;
  const end = entryAt(walk.entries, walk.count);
  for (let from = to; from < end; from += 8) {
    const found = load<u64>(from);
    if ((found & ELIGIBLE) == 0) continue;
    store<u64>(to, found & ~MARKS);
    to += 8;
  }
  return u32((to - usize(walk.entries)) >> 3);
}
