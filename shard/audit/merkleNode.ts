import { EMPTY_HASH, hash } from '../../shared/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { writeU64 } from '../../shared/u64.js';
import type { HashNode } from './merkleTree.js';

/**
 * H(domain ‖ left ‖ right) of the 64 bytes `left ‖ right`; of two empty children, empty: where all was deleted, nothing
 * is left to hash.
 */
export function nodeHasher(domain: number): HashNode {
  const message = new Uint8Array(1 + 2 * HASH_BYTES);
  message[0] = domain;
  return (children) => {
    if (isEmpty(children)) return EMPTY_HASH;
    message.set(children, 1);
    return hash(message);
  };
}

/** H(domain ‖ u64 leaves ‖ Merkle tree hash). */
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

/** Nearly always decided by the first byte. */
function isEmpty(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}
