/**
 * The memory of a navigable graph (HNSW, see `graphLink.ts`): a record per node, and separate lists for nodes on higher
 * levels.
 *
 *   Record:  vector | slot u32 | lock u32 | upper u32 | count u32 | 2m × u32 neighbour.
 *   Upper:   level u32 | per level from 1: count u32, m × u32 neighbour.
 *
 * A vector has a byte or an f32 per component. A distance is the sum of squared differences. It is a whole number below
 * 2^31, or an f32 whose bits sort like one. Threads change links under the node's lock and read them without it. A
 * reader may find a neighbour twice or miss one, but every link that it reads leads to a node.
 */

@unmanaged
export class Graph {
  /** Nodes whose records are written. */
  count: u32;
  /** Next node to be linked. Threads take nodes one by one. */
  next: u32;
  /** Start of every search: a node of the highest level; NO_NODE before the first. */
  entry: u32;
  entryLock: u32;
  /** Largest number of neighbours of a node on a higher level (m); twice as many on level 0. */
  neighbours: u32;
  /** Candidates that a search finds for the neighbours of a new node (ef_construction). */
  width: u32;
  /** A multiple of 16. */
  vectorBytes: u32;
  isFloat: u32;
  recordBytes: u32;
  /** Addresses. */
  records: u32;
  uppers: u32;
}

export const NO_NODE: u32 = 0xffff_ffff;

@inline export function vectorOf(graph: Graph, node: u32): usize {
  return usize(graph.records) + usize(node) * graph.recordBytes;
}

/** The slot of the node's row. */
@inline export function slotOf(graph: Graph, node: u32): u32 {
  return load<u32>(vectorOf(graph, node) + graph.vectorBytes);
}

@inline export function lockOf(graph: Graph, node: u32): usize {
  return vectorOf(graph, node) + graph.vectorBytes + 4;
}

/** Returns the address of the node's upper lists, which begin with its level; 0 for a node of level 0 only. */
@inline function upperOf(graph: Graph, node: u32): usize {
  const upper = load<u32>(vectorOf(graph, node) + graph.vectorBytes, 8);
  return upper == 0 ? 0 : usize(graph.uppers) + (usize(upper) << 2);
}

export function levelOf(graph: Graph, node: u32): u32 {
  const upper = upperOf(graph, node);
  return upper == 0 ? 0 : load<u32>(upper);
}

/** Returns the address of the node's list on one of its levels: the count, then the neighbours. */
@inline export function listOf(graph: Graph, node: u32, level: u32): usize {
  if (level == 0) return vectorOf(graph, node) + graph.vectorBytes + 12;
  return upperOf(graph, node) + 4 + ((usize(level - 1) * (graph.neighbours + 1)) << 2);
}

@inline export function neighboursOn(graph: Graph, level: u32): u32 {
  return level == 0 ? graph.neighbours << 1 : graph.neighbours;
}

/** Tries for a taken lock before a sleep, and the length of the sleep. The owner may have lost its processor. */
const SPINS: u32 = 1000;
const SLEEP_NS: i64 = 50_000;
/** Sleeps until the lock's owner is taken for dead: a minute at least. */
const SLEEPS_MAX: u32 = 1_200_000;

/** Takes a lock. Traps if the thread that has it is dead. */
export function lock(at: usize): void {
  for (let tries: u32 = 0; atomic.cmpxchg<u32>(at, 0, 1) != 0; tries++) {
    if (tries >= SPINS + SLEEPS_MAX) unreachable();
    if (tries >= SPINS) atomic.wait<i32>(at, 1, SLEEP_NS);
  }
}

@inline export function unlock(at: usize): void {
  atomic.store<u32>(at, 0);
}

@inline function addBytes(sums: v128, low: v128, high: v128, at: usize): v128 {
  const first = i16x8.sub(low, v128.load_ext<i8>(at));
  const second = i16x8.sub(high, v128.load_ext<i8>(at, 8));
  return i32x4.add(sums, i32x4.add(i32x4.dot_i16x8_s(first, first), i32x4.dot_i16x8_s(second, second)));
}

@inline function addFloats(sums: v128, numbers: v128, at: usize): v128 {
  const apart = f32x4.sub(numbers, v128.load(at));
  return f32x4.add(sums, f32x4.mul(apart, apart));
}

@inline function firsts(a: v128, b: v128): v128 {
  return v128.shuffle<i32>(a, b, 0, 4, 1, 5);
}

@inline function lasts(a: v128, b: v128): v128 {
  return v128.shuffle<i32>(a, b, 2, 6, 3, 7);
}

/** Returns the distances from the vector at `from` to those at a, b, c and d. */
export function distances(graph: Graph, from: usize, a: usize, b: usize, c: usize, d: usize): v128 {
  let sa = i32x4.splat(0);
  let sb = sa;
  let sc = sa;
  let sd = sa;
  const end = from + graph.vectorBytes;
  if (graph.isFloat) {
    for (let at = from; at < end; at += 16) {
      const numbers = v128.load(at);
      sa = addFloats(sa, numbers, a);
      sb = addFloats(sb, numbers, b);
      sc = addFloats(sc, numbers, c);
      sd = addFloats(sd, numbers, d);
      a += 16;
      b += 16;
      c += 16;
      d += 16;
    }
    const ab = f32x4.add(firsts(sa, sb), lasts(sa, sb));
    const cd = f32x4.add(firsts(sc, sd), lasts(sc, sd));
    return f32x4.add(v128.shuffle<i32>(ab, cd, 0, 1, 4, 5), v128.shuffle<i32>(ab, cd, 2, 3, 6, 7));
  }
  for (let at = from; at < end; at += 16) {
    const low = v128.load_ext<i8>(at);
    const high = v128.load_ext<i8>(at, 8);
    sa = addBytes(sa, low, high, a);
    sb = addBytes(sb, low, high, b);
    sc = addBytes(sc, low, high, c);
    sd = addBytes(sd, low, high, d);
    a += 16;
    b += 16;
    c += 16;
    d += 16;
  }
  const ab = i32x4.add(firsts(sa, sb), lasts(sa, sb));
  const cd = i32x4.add(firsts(sc, sd), lasts(sc, sd));
  return i32x4.add(v128.shuffle<i32>(ab, cd, 0, 1, 4, 5), v128.shuffle<i32>(ab, cd, 2, 3, 6, 7));
}

/** Returns one distance. It costs as much as the four of `distances`. */
@inline export function distance(graph: Graph, from: usize, to: usize): u32 {
  return u32(i32x4.extract_lane(distances(graph, from, to, to, to, to), 0));
}
