/** The hashes of the state tree above its leaves. */
import { DOMAIN, hash } from '../../shared/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { writeU64 } from '../../shared/u64.js';
import { nodeHasher } from './merkleNode.js';

/** H(0x11 ‖ left ‖ right), or empty where both are. */
export const hashStateNode = nodeHasher(DOMAIN.stateNode);

const rootMessage = new Uint8Array(1 + 8 + HASH_BYTES);
const rootView = new DataView(rootMessage.buffer);
rootMessage[0] = DOMAIN.stateRoot;

/** H(0x12 ‖ u64 leaves ‖ Merkle tree hash). */
export function stateRoot(leaves: number, mth: Uint8Array): Uint8Array {
  writeU64(rootView, 1, leaves);
  rootMessage.set(mth, 9);
  return hash(rootMessage);
}
