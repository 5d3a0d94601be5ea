/**
 * From a leaf and its audit path to the hash of the tree (RFC 9162, section 2.1.3.2). Paths run bottom first, 32 bytes a
 * sibling.
 */
import { EMPTY_HASH } from '../../shared/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import type { HashNode } from './merkleTree.js';

const children = new Uint8Array(2 * HASH_BYTES);

function join(left: Uint8Array, right: Uint8Array, hashNode: HashNode): Uint8Array {
  children.set(left);
  children.set(right, HASH_BYTES);
  return hashNode(children);
}

/** The Merkle tree hash of a tree of `leaves` leaves in which `leaf` stands at `index` and `path` is its path. */
export function foldPath(
  leaf: Uint8Array,
  index: number,
  leaves: number,
  path: Uint8Array,
  hashNode: HashNode,
): Uint8Array {
  let node = leaf;
  let position = index;
  let last = leaves - 1;
  for (let at = 0; at < path.length; at += HASH_BYTES) {
    const sibling = path.subarray(at, at + HASH_BYTES);
    // The last node of a level without a sibling there stands for itself in the levels above.
    while (position === last && position % 2 === 0 && position > 0) {
      position /= 2;
      last /= 2;
    }
    node = position % 2 === 1 ? join(sibling, node, hashNode) : join(node, sibling, hashNode);
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  return node;
}

/**
 * The Merkle tree hash of the tree before its newest leaf, from that leaf's path: all its siblings lie to the left, and
 * are just the subtrees of which the earlier tree is made.
 */
export function foldWithoutLeaf(path: Uint8Array, hashNode: HashNode): Uint8Array {
  if (path.length === 0) return EMPTY_HASH;
  let node = path.subarray(0, HASH_BYTES);
  for (let at = HASH_BYTES; at < path.length; at += HASH_BYTES)
    node = join(path.subarray(at, at + HASH_BYTES), node, hashNode);
  return node;
}
