/** Hashes of Merkle trees above the leaves, and the fold of a leaf and its audit path to the tree's hash. */
import { EMPTY_HASH, hash, hashInto } from '../../shared/hashing/hash.js';
import { writeU64 } from '../../shared/hashing/u64.js';
import { HASH_BYTES } from '../../shared/limits.js';

/**
 * Hashes `left ‖ right`, 64 bytes that it does not keep, to their node. Writes it to `target` from `at` on, by default to new memory,
 * and returns the target.
 */
export type HashNode = (children: Uint8Array, target?: Uint8Array, at?: number) => Uint8Array;

/**
 * Returns H(domain ‖ left ‖ right). If both children are empty it is the empty hash, so that deleted subtrees cost no
 * hash.
 */
export function nodeHasher(domain: number): HashNode {
  const message = new Uint8Array(1 + 2 * HASH_BYTES);
  message[0] = domain;
  return (children, target = new Uint8Array(HASH_BYTES), at = 0) => {
    message.set(children, 1);
    if (isEmpty(children)) target.set(EMPTY_HASH, at);
    else hashInto(message, target, at);
    return target;
  };
}

/** Returns H(domain ‖ u64 leaves ‖ Merkle tree hash). */
export function rootHasher(domain: number): (leaves: number, mth: Uint8Array) => Uint8Array {
  const message = new Uint8Array(1 + 8 + HASH_BYTES);
  const view = new DataView(message.buffer);
  message[0] = domain;
  return (leaves, mth) => {
    writeU64(view, 1, leaves);
    message.set(mth, 9);
    return hash(message);
  };
}

const children = new Uint8Array(2 * HASH_BYTES);

/** Returns the node over two nodes that are not adjacent in memory. */
export function joinNodes(left: Uint8Array, right: Uint8Array, hashNode: HashNode): Uint8Array {
  children.set(left);
  children.set(right, HASH_BYTES);
  return hashNode(children);
}

/**
 * Returns the Merkle tree hash of a tree of `leaves` leaves with `leaf` at `index`, after RFC 9162, section 2.1.3.2.
 * The siblings in `path` are 32 bytes each, bottom first.
 */
export function foldPath(
  leaf: Uint8Array,
  { index, leaves }: { readonly index: number; readonly leaves: number },
  path: Uint8Array,
  hashNode: HashNode,
): Uint8Array {
  children.set(leaf, HASH_BYTES);
  let position = index;
  let last = leaves - 1;
  for (let at = 0; at < path.length; at += HASH_BYTES) {
    // The last node of a level without a sibling is also the node of the level above.
    while (position === last && (position & 1) === 0 && position > 0) {
      position >>>= 1;
      last >>>= 1;
    }
    if ((position & 1) === 0) {
      copyHash(children, HASH_BYTES, children, 0);
      copyHash(path, at, children, HASH_BYTES);
    } else copyHash(path, at, children, 0);
    hashNode(children, children, HASH_BYTES);
    position >>>= 1;
    last >>>= 1;
  }
  return children.slice(HASH_BYTES);
}

/**
 * Returns the Merkle tree hash before the newest leaf was added, from that leaf's path. All siblings are to the left,
 * and are exactly the subtrees of the earlier tree.
 */
export function foldWithoutLeaf(path: Uint8Array, hashNode: HashNode): Uint8Array {
  if (path.length === 0) return EMPTY_HASH;
  copyHash(path, 0, children, HASH_BYTES);
  for (let at = HASH_BYTES; at < path.length; at += HASH_BYTES) {
    copyHash(path, at, children, 0);
    hashNode(children, children, HASH_BYTES);
  }
  return children.slice(HASH_BYTES);
}

/** Copies a hash. A view of it would take longer, and be garbage. */
export function copyHash(from: Uint8Array, at: number, target: Uint8Array, to: number): void {
  for (let i = 0; i < HASH_BYTES; i++) target[to + i] = from[at + i]!;
}

/** Whether all bytes are 0. The first byte nearly always decides. */
function isEmpty(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}
