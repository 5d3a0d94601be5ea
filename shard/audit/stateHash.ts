/** The state hash: one BLAKE3 over everything that a collection is after an event, 32 bytes. */
import { DOMAIN, hash } from '../../shared/hashing/hash.js';
import { writeU64 } from '../../shared/hashing/u64.js';
import { HASH_BYTES } from '../../shared/limits.js';

export interface StateSummary {
  readonly configHash: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly graphRoot: Uint8Array;
  readonly chainHead: Uint8Array;
  readonly sequence: number;
  readonly timeMs: number;
}

const NUMBERS_AT = 1 + 4 * HASH_BYTES;
const message = new Uint8Array(NUMBERS_AT + 16);
const view = new DataView(message.buffer);
message[0] = DOMAIN.stateHash;

/** Returns H(0x13 ‖ config hash ‖ state root ‖ graph root ‖ chain head ‖ u64 sequence ‖ u64 time_ms). */
export function stateHash({ configHash, stateRoot, graphRoot, chainHead, sequence, timeMs }: StateSummary): Uint8Array {
  message.set(configHash, 1);
  message.set(stateRoot, 1 + HASH_BYTES);
  message.set(graphRoot, 1 + 2 * HASH_BYTES);
  message.set(chainHead, 1 + 3 * HASH_BYTES);
  writeU64(view, NUMBERS_AT, sequence);
  writeU64(view, NUMBERS_AT + 8, timeMs);
  return hash(message);
}
