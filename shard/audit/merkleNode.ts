import { EMPTY_HASH, hash } from '../../shared/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
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

/** Nearly always decided by the first byte. */
function isEmpty(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}
