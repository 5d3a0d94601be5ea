import { writeU64 } from '../../shared/hashing/u64.js';
import { KEY_ID_BYTES } from '../../shared/limits.js';

/** Returns what a ciphertext is bound to: u64 collection id of the genesis ‖ key id. */
export function associatedData(genesisId: number, keyId: string): Uint8Array {
  const bytes = new Uint8Array(8 + KEY_ID_BYTES);
  writeU64(new DataView(bytes.buffer), 0, genesisId);
  bytes.set(Buffer.from(keyId, 'hex'), 8);
  return bytes;
}
