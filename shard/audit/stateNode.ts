/** The hashes of the state tree above its leaves. */
import { DOMAIN, EMPTY_HASH, hash } from '../../shared/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { writeU64 } from '../../shared/u64.js';

const nodeMessage = new Uint8Array(1 + 2 * HASH_BYTES);
nodeMessage[0] = DOMAIN.stateNode;

/**
 * H(0x11 ‖ left ‖ right) of the 64 bytes `left ‖ right`; of two empty children, empty: where records were deleted for
 * good, nothing is left to hash.
 */
export function hashStateNode(children: Uint8Array): Uint8Array {
  if (isEmpty(children)) return EMPTY_HASH;
  nodeMessage.set(children, 1);
  return hash(nodeMessage);
}

const rootMessage = new Uint8Array(1 + 8 + HASH_BYTES);
const rootView = new DataView(rootMessage.buffer);
rootMessage[0] = DOMAIN.stateRoot;

/** H(0x12 ‖ u64 leaves ‖ Merkle tree hash). */
export function stateRoot(leaves: number, mth: Uint8Array): Uint8Array {
  writeU64(rootView, 1, leaves);
  rootMessage.set(mth, 9);
  return hash(rootMessage);
}

/** Nearly always decided by the first byte. */
function isEmpty(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}
