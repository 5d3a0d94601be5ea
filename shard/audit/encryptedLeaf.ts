/** An encrypted record as a leaf of the state tree. A shred of its key changes nothing in it. */
import { DOMAIN, hash } from '../../shared/hash.js';
import { HASH_BYTES, KEY_ID_BYTES, NONCE_BYTES } from '../../shared/limits.js';
import { writeU64 } from '../../shared/u64.js';
import type { RecordState } from './leaf.js';

export interface EncryptedLeaf {
  readonly state: RecordState;
  readonly id: number;
  readonly tag: number;
  /** The time of the record's insert. */
  readonly insertedMs: number;
  /** 16 bytes. */
  readonly keyId: Uint8Array;
  /** As `encryptedContentHash` gives it. */
  readonly contentHash: Uint8Array;
}

const AT = { state: 1, id: 8, tag: 16, insertedMs: 24, keyId: 32, contentHash: 32 + KEY_ID_BYTES };

const message = new Uint8Array(AT.contentHash + HASH_BYTES);
const view = new DataView(message.buffer);

/** H(0x18 ‖ u8 state ‖ 6 zero bytes ‖ u64 id ‖ u64 tag ‖ u64 inserted time_ms ‖ key id ‖ content hash). */
export function encryptedLeafHash({ state, id, tag, insertedMs, keyId, contentHash }: EncryptedLeaf): Uint8Array {
  message[0] = DOMAIN.encryptedLeaf;
  message[AT.state] = state;
  writeU64(view, AT.id, id);
  writeU64(view, AT.tag, tag);
  writeU64(view, AT.insertedMs, insertedMs);
  message.set(keyId, AT.keyId);
  message.set(contentHash, AT.contentHash);
  return hash(message);
}

/** H(0x19 ‖ nonce ‖ ciphertext), the ciphertext with its tag. */
export function encryptedContentHash(nonce: Uint8Array, ciphertext: Uint8Array): Uint8Array {
  const content = new Uint8Array(1 + NONCE_BYTES + ciphertext.length);
  content[0] = DOMAIN.encryptedContent;
  content.set(nonce, 1);
  content.set(ciphertext, 1 + NONCE_BYTES);
  return hash(content);
}
