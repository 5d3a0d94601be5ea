/** The hashes of the state tree above its leaves. */
import { DOMAIN } from '../../shared/hash.js';
import { nodeHasher, rootHasher } from './merkleNode.js';

/** H(0x11 ‖ left ‖ right), or empty where both are. */
export const hashStateNode = nodeHasher(DOMAIN.stateNode);

/** H(0x12 ‖ u64 leaves ‖ Merkle tree hash). */
export const stateRoot = rootHasher(DOMAIN.stateRoot);
