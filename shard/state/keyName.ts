/** The names of keys, made once for an array that many events share. */
import { toHex } from '../../shared/hashing/hash.js';

const names = new WeakMap<Uint8Array, string>();

/** Notes the name of a key whose id is this array in later events, so that their records share one string. */
export const nameKey = (keyId: Uint8Array, name: string): unknown => names.set(keyId, name);

/** Returns the id of a key as 32 hex digits. */
export const keyName = (keyId: Uint8Array): string => names.get(keyId) ?? toHex(keyId);
