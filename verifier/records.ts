/** Records with the values of the log, and their leaves in the state tree. */
import { u8, u16, u32, u64 } from './bytes.js';
import { ABSENT, H } from './hashing.js';

interface Kept {
  readonly state: 'live' | 'tombstoned';
  readonly id: bigint;
  readonly tag: bigint;
  /** The time of its insert. */
  readonly insertedMs: bigint;
  /** Null: it does not expire. */
  readonly expiresAtMs: bigint | null;
}

/** The key of a record under one, and the salt of its commitment. */
interface Salted {
  /** 16 bytes. */
  readonly keyId: Uint8Array;
  /** 32 bytes. */
  readonly salt: Uint8Array;
}

export interface RecordValues extends Kept {
  /** Absent: the record is under no key. */
  readonly underKey?: Salted | undefined;
  /** Little-endian i32; see `storedVector.ts`. */
  readonly vector: Uint8Array;
  readonly metadata: Uint8Array | null;
  /** UTF-8. */
  readonly text: Uint8Array | null;
  /** UTF-8. */
  readonly externalId: Uint8Array | null;
}

export interface EncryptedValues extends Kept {
  /** 16 bytes. */
  readonly keyId: Uint8Array;
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** Including its 16-byte tag. */
  readonly ciphertext: Uint8Array;
}

const NOTHING = new Uint8Array(0);
const FIVE_ZEROS = new Uint8Array(5);

const stateByte = ({ state }: Pick<Kept, 'state'>): Uint8Array => u8(state === 'live' ? 1 : 2);

/** A record whose content is under a key, which may be shredded. */
export interface UnderKeyValues extends Omit<Kept, 'tag'> {
  /** 16 bytes. */
  readonly keyId: Uint8Array;
  /** 32 bytes. */
  readonly commitment: Uint8Array;
}

/** The flag of an expiry, and its bytes after all other fields: those of an event and of a leaf. */
export const expiryFlag = (expiresAtMs: bigint | null): number => (expiresAtMs === null ? 0 : 16);
export const expiryOf = (expiresAtMs: bigint | null): Uint8Array => (expiresAtMs === null ? NOTHING : u64(expiresAtMs));

/** `deleted`: a record deleted for good. */
export function leafOf(record: RecordValues | EncryptedValues | UnderKeyValues | 'deleted'): Uint8Array {
  if (record === 'deleted') return ABSENT;
  if ('commitment' in record) return leafUnderKey(record);
  if ('ciphertext' in record) return encryptedLeaf(record);
  const { underKey } = record;
  return underKey === undefined ? openLeaf(record) : leafUnderKey({ ...record, ...saltedCommitment(record, underKey) });
}

/** The commitment to the content of a record under a key. */
function saltedCommitment(
  { tag, vector, metadata, text, externalId }: RecordValues,
  { keyId, salt }: Salted,
): Pick<UnderKeyValues, 'keyId' | 'commitment'> {
  const commitment = H(
    u8(0x1b),
    salt,
    u64(tag),
    u8((metadata ? 2 : 0) + (text ? 4 : 0) + (externalId ? 8 : 0)),
    u8(0),
    u16(externalId?.length ?? 0),
    u32(metadata?.length ?? 0),
    u32(text?.length ?? 0),
    u32(vector.length / 4),
    vector,
    metadata ?? NOTHING,
    text ?? NOTHING,
    externalId ?? NOTHING,
  );
  return { keyId, commitment };
}

function openLeaf(record: RecordValues): Uint8Array {
  const { metadata, text, externalId, expiresAtMs } = record;
  return H(
    u8(0x10),
    stateByte(record),
    u8((metadata ? 2 : 0) + (text ? 4 : 0) + (externalId ? 8 : 0) + expiryFlag(expiresAtMs)),
    u8(0),
    u32(record.vector.length / 4),
    u64(record.id),
    u64(record.tag),
    u64(record.insertedMs),
    u32(metadata?.length ?? 0),
    u32(text?.length ?? 0),
    record.vector,
    metadata ?? NOTHING,
    text ?? NOTHING,
    externalId ?? NOTHING,
    expiryOf(expiresAtMs),
  );
}

/** Hash of nonce and ciphertext, which the leaf of an encrypted payload has in place of a commitment. */
export const contentHash = ({ nonce, ciphertext }: Pick<EncryptedValues, 'nonce' | 'ciphertext'>): Uint8Array =>
  H(u8(0x19), nonce, ciphertext);

const encryptedLeaf = (record: EncryptedValues): Uint8Array =>
  leafOfKeyed({ ...record, isPayload: true, commitment: contentHash(record) });

/** A record under a key. `commitment`: of an encrypted payload the hash of nonce and ciphertext. The others have the tag 0. */
export interface KeyedValues extends UnderKeyValues, Kept {
  readonly isPayload: boolean;
}

const leafUnderKey = (record: UnderKeyValues): Uint8Array => leafOfKeyed({ ...record, isPayload: false, tag: 0n });

export function leafOfKeyed(record: KeyedValues): Uint8Array {
  const { isPayload, id, tag, insertedMs, keyId, commitment, expiresAtMs } = record;
  const head = [u8(isPayload ? 0x18 : 0x1a), stateByte(record), u8(expiryFlag(expiresAtMs)), FIVE_ZEROS];
  return H(...head, u64(id), u64(tag), u64(insertedMs), keyId, commitment, expiryOf(expiresAtMs));
}
