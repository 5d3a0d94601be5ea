/** Merkle trees by their definition (RFC 6962, section 2.1), except that a node over two absent hashes is absent. */
import { equal, u8 } from './bytes.js';
import { ABSENT, H } from './hashing.js';

const STATE_NODE = 0x11;

function node(left: Uint8Array, right: Uint8Array, domain = STATE_NODE): Uint8Array {
  return equal(left, ABSENT) && equal(right, ABSENT) ? ABSENT : H(u8(domain), left, right);
}

/** The largest power of two below `size`, which is 2 or more. */
function split(size: bigint): bigint {
  let k = 1n;
  while (2n * k < size) k *= 2n;
  return k;
}

/** The Merkle tree hash. `domain`: the first byte that each node hashes; by default that of the state tree. */
export function treeHash(leaves: readonly Uint8Array[], domain = STATE_NODE): Uint8Array {
  if (leaves.length === 0) return ABSENT;
  if (leaves.length === 1) return leaves[0] as Uint8Array;
  const k = Number(split(BigInt(leaves.length)));
  return node(treeHash(leaves.slice(0, k), domain), treeHash(leaves.slice(k), domain), domain);
}

/** The audit path of the leaf at `index`, bottom first. */
export function auditPath(index: number, leaves: readonly Uint8Array[], domain = STATE_NODE): Uint8Array[] {
  if (leaves.length <= 1) return [];
  const k = Number(split(BigInt(leaves.length)));
  return index < k
    ? [...auditPath(index, leaves.slice(0, k), domain), treeHash(leaves.slice(k), domain)]
    : [...auditPath(index - k, leaves.slice(k), domain), treeHash(leaves.slice(0, k), domain)];
}

/** The number of siblings in the path of the leaf at `index`. */
export function pathLength(index: bigint, size: bigint): number {
  if (size <= 1n) return 0;
  const k = split(size);
  return 1 + (index < k ? pathLength(index, k) : pathLength(index - k, size - k));
}

/** The hash of a tree of `size` leaves from one leaf and its path, of the right length, bottom first. */
export function hashFromPath(
  leaf: Uint8Array,
  { index, size }: { readonly index: bigint; readonly size: bigint },
  path: readonly Uint8Array[],
  domain = STATE_NODE,
): Uint8Array {
  if (size === 1n) return leaf;
  const k = split(size);
  const below = path.slice(0, -1);
  const top = path.at(-1) as Uint8Array;
  return index < k
    ? node(hashFromPath(leaf, { index, size: k }, below, domain), top, domain)
    : node(top, hashFromPath(leaf, { index: index - k, size: size - k }, below, domain), domain);
}

/** The hash of a tree of `size` leaves before its last leaf was added, from that leaf's path. */
export function hashBeforeLast(size: bigint, path: readonly Uint8Array[]): Uint8Array {
  if (size === 1n) return ABSENT;
  const rightSize = size - split(size);
  const left = path.at(-1) as Uint8Array;
  // A right part of one leaf is the last leaf itself: without it, the left part is the whole tree.
  return rightSize === 1n ? left : node(left, hashBeforeLast(rightSize, path.slice(0, -1)));
}

/**
 * The hashes of a tree of `from` leaves and of the tree of `to` leaves that continues it, 0 < `from` < `to`. They follow from the
 * nodes of a consistency proof (RFC 9162, section 2.1.4.1). Here the proof always includes the earlier tree's hash, even for a
 * power of two. Undefined if the number of nodes is wrong.
 */
export function hashesFromNodes(
  from: bigint,
  to: bigint,
  nodes: readonly Uint8Array[],
  domain: number,
): { readonly earlier: Uint8Array; readonly later: Uint8Array } | undefined {
  const left = [...nodes];
  // Bottom first: a node is taken when the subtrees below it are done.
  const climb = (known: bigint, size: bigint): { earlier: Uint8Array; later: Uint8Array } | undefined => {
    if (known === size) {
      const whole = left.shift();
      return whole && { earlier: whole, later: whole };
    }
    const k = split(size);
    const below = known <= k ? climb(known, k) : climb(known - k, size - k);
    const beside = left.shift();
    if (below === undefined || beside === undefined) return undefined;
    return known <= k
      ? { earlier: below.earlier, later: node(below.later, beside, domain) }
      : { earlier: node(beside, below.earlier, domain), later: node(beside, below.later, domain) };
  };
  const hashes = climb(from, to);
  return left.length === 0 ? hashes : undefined;
}
