/** Leaves of the state tree: the hash of a record. A permanently deleted record has the empty leaf instead. */
import { DOMAIN, hash, hashInto, hashTogetherInto } from '../../shared/hashing/hash.js';
import { TOGETHER, TOGETHER_BYTES_MAX } from '../../shared/hashing/longHash.js';
import { writeU64 } from '../../shared/hashing/u64.js';
import { HASH_BYTES, KEY_ID_BYTES, NONCE_BYTES } from '../../shared/limits.js';
import type { Insert, InsertUnderKey, Replace, ReplaceUnderKey } from '../../shared/log/event.js';
import { contentBytes, EXPIRY_BYTES, expiryBytes, FLAG } from '../../shared/log/eventLayout.js';

export const RECORD_STATE = { live: 1, tombstoned: 2 } as const;
export type RecordState = (typeof RECORD_STATE)[keyof typeof RECORD_STATE];

interface LeafFields {
  readonly state: RecordState;
  readonly id: number;
  readonly tag: number;
  /** Time of the record's insert. */
  readonly insertedMs: number;
  /** Unix milliseconds; absent: it does not expire. */
  readonly expiresAtMs?: number | undefined;
}

export interface LeafRecord extends LeafFields {
  /** Little-endian i32 components in Q16.16. */
  readonly vector: Uint8Array;
  readonly metadata: Uint8Array | null;
  /** UTF-8. */
  readonly text: Uint8Array | null;
  /** UTF-8. */
  readonly externalId: Uint8Array | null;
}

interface EncryptedLeaf extends LeafFields {
  /** 16 bytes. */
  readonly keyId: Uint8Array;
  /** From `encryptedContentHash`. */
  readonly contentHash: Uint8Array;
}

/** Offsets in both kinds of leaf. Flags, dimension and lengths exist only for a record with a vector. */
const AT = { state: 1, flags: 2, dimension: 4, id: 8, tag: 16, insertedMs: 24, metadataLength: 32, textLength: 36 };
const VECTOR_AT = 40;
const KEY_ID_AT = 32;
const CONTENT_HASH_AT = KEY_ID_AT + KEY_ID_BYTES;
const ENCRYPTED_END = CONTENT_HASH_AT + HASH_BYTES;

let message = new Uint8Array(4096);
let view = new DataView(message.buffer);

/**
 * Returns the leaf of a record with a vector: the hash H of the fields below. The external id is the rest of the
 * message, up to the expiry if the record has one.
 *
 * ```text
 * 0x10 ‖ u8 state ‖ u8 flags ‖ 0 ‖ u32 dimension ‖ u64 id ‖ u64 tag ‖ u64 inserted time_ms.
 * u32 metadata length ‖ u32 text length ‖ vector ‖ metadata ‖ text ‖ external id ‖ u64 expires_at_ms.
 * ```
 */
export function leafHash(record: LeafRecord): Uint8Array {
  const end = writeLeaf(record, 0);
  return hash(message.subarray(0, end));
}

/** Writes the hashed message of a record from `at` on, and returns its end. */
function writeLeaf(record: LeafRecord, at: number): number {
  const { vector, metadata, text, externalId, expiresAtMs } = record;
  const metadataAt = at + VECTOR_AT + vector.length;
  const textAt = metadataAt + (metadata?.length ?? 0);
  const externalIdAt = textAt + (text?.length ?? 0);
  const fieldsEnd = externalIdAt + (externalId?.length ?? 0);
  const end = fieldsEnd + (expiresAtMs === undefined ? 0 : EXPIRY_BYTES);
  if (end > message.length) grow(end);
  message[at] = DOMAIN.stateLeaf;
  writeFields(message, view, record, at);
  message[at + AT.flags] =
    (metadata === null ? 0 : FLAG.metadata) |
    (text === null ? 0 : FLAG.text) |
    (externalId === null ? 0 : FLAG.externalId) |
    flagOf(expiresAtMs);
  message[at + AT.flags + 1] = 0;
  view.setUint32(at + AT.dimension, vector.length / 4, true);
  view.setUint32(at + AT.metadataLength, metadata?.length ?? 0, true);
  view.setUint32(at + AT.textLength, text?.length ?? 0, true);
  message.set(vector, at + VECTOR_AT);
  if (metadata !== null) message.set(metadata, metadataAt);
  if (text !== null) message.set(text, textAt);
  if (externalId !== null) message.set(externalId, externalIdAt);
  if (expiresAtMs !== undefined) writeU64(view, fieldsEnd, expiresAtMs);
  return end;
}

/** Returns the leaf of a record with this content. */
export const leafOfContent = (event: Insert | Replace): Uint8Array => leafHash(leafRecordOf(event));

/** Returns the fields of a record with this content. They are listed, since a spread of the event costs as much as the hash. */
function leafRecordOf(event: Insert | Replace): LeafRecord {
  const { recordId: id, timeMs: insertedMs, tag, vector, metadata, text, externalId, expiresAtMs } = event;
  return { state: RECORD_STATE.live, id, tag, insertedMs, vector, metadata, text, externalId, expiresAtMs };
}

/** Returns the leaves of TOGETHER records, one after another, hashed together; undefined if their messages differ in size. */
export function leavesTogether(events: readonly (Insert | InsertUnderKey)[]): Uint8Array | undefined {
  const sizeBytes = leafBytes(events[0]!);
  if (sizeBytes > TOGETHER_BYTES_MAX || events.some((event) => leafBytes(event) !== sizeBytes)) return undefined;
  const target = new Uint8Array(TOGETHER * HASH_BYTES);
  const starts = events.map((event, i) => {
    const at = i * sizeBytes;
    if (event.type === 'insert') writeLeaf(leafRecordOf(event), at);
    else writeKeyedLeaf(DOMAIN.leafUnderKey, keyedLeafOf(event), at);
    return at;
  });
  hashTogetherInto(message, starts, sizeBytes, { target, at: 0 });
  return target;
}

/** Returns the leaves of any records, one after another. Those of one size are hashed together. */
export function leafHashes(records: readonly LeafRecord[]): Uint8Array {
  const leaves = new Uint8Array(records.length * HASH_BYTES);
  const four = new Uint8Array(TOGETHER * HASH_BYTES);
  const starts = new Uint32Array(records.length);
  /** Size of a message → the places of records that wait for others of that size. */
  const waiting = new Map<number, number[]>();
  let end = 0;
  for (const [place, record] of records.entries()) {
    starts[place] = end;
    end = writeLeaf(record, end);
    const sizeBytes = end - starts[place]!;
    const places = waiting.get(sizeBytes) ?? [];
    if (places.push(place) === 1) waiting.set(sizeBytes, places);
    if (places.length < TOGETHER || sizeBytes > TOGETHER_BYTES_MAX) continue;
    const together = places.map((at) => starts[at]!);
    hashTogetherInto(message, together, sizeBytes, { target: four, at: 0 });
    for (const [i, at] of places.entries())
      leaves.set(four.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES), at * HASH_BYTES);
    waiting.delete(sizeBytes);
  }
  for (const [sizeBytes, places] of waiting)
    for (const at of places) hashInto(message.subarray(starts[at]!, starts[at]! + sizeBytes), leaves, at * HASH_BYTES);
  return leaves;
}

const leafBytes = (event: Insert | InsertUnderKey): number =>
  (event.type === 'insert' ? VECTOR_AT + contentBytes(event) : ENCRYPTED_END) + expiryBytes(event);

/**
 * Returns the leaf of an encrypted record; a shred of its key does not change it: H(0x18 ‖ u8 state ‖ u8 flags ‖
 * 5 zero bytes ‖ u64 id ‖ u64 tag ‖ u64 inserted time_ms ‖ key id ‖ content hash ‖ with an expiry u64 expires_at_ms).
 */
export const encryptedLeafHash = (record: EncryptedLeaf): Uint8Array => keyedLeafHash(DOMAIN.encryptedLeaf, record);

/**
 * Returns the leaf of a record under a key, like `encryptedLeafHash`, with 0x1a, a tag of 0, and the commitment for a
 * content hash. The leaf stays when the content is erased.
 */
export const underKeyLeafHash = (record: EncryptedLeaf): Uint8Array => keyedLeafHash(DOMAIN.leafUnderKey, record);

/** Returns the leaf of a record that the event writes. */
export const leafUnderKey = (event: InsertUnderKey | ReplaceUnderKey): Uint8Array =>
  underKeyLeafHash(keyedLeafOf(event));

function keyedLeafOf(event: InsertUnderKey | ReplaceUnderKey): EncryptedLeaf {
  const { recordId: id, timeMs: insertedMs, keyId, commitment: contentHash, expiresAtMs } = event;
  return { state: RECORD_STATE.live, id, tag: 0, insertedMs, keyId, contentHash, expiresAtMs };
}

const keyedLeafHash = (domain: number, record: EncryptedLeaf): Uint8Array =>
  hash(message.subarray(0, writeKeyedLeaf(domain, record, 0)));

/** Writes the hashed message of a record under a key from `at` on, and returns its end. */
function writeKeyedLeaf(domain: number, record: EncryptedLeaf, at: number): number {
  const { keyId, contentHash, expiresAtMs } = record;
  const fieldsEnd = at + ENCRYPTED_END;
  const end = fieldsEnd + (expiresAtMs === undefined ? 0 : EXPIRY_BYTES);
  if (end > message.length) grow(end);
  message[at] = domain;
  message.fill(0, at + AT.flags + 1, at + AT.id);
  writeFields(message, view, record, at);
  message[at + AT.flags] = flagOf(expiresAtMs);
  message.set(keyId, at + KEY_ID_AT);
  message.set(contentHash, at + CONTENT_HASH_AT);
  if (expiresAtMs !== undefined) writeU64(view, fieldsEnd, expiresAtMs);
  return end;
}

const flagOf = (expiresAtMs: number | undefined): number => (expiresAtMs === undefined ? 0 : FLAG.expiry);

/** Returns H(0x19 ‖ nonce ‖ ciphertext), where the ciphertext includes its tag. */
export function encryptedContentHash(nonce: Uint8Array, ciphertext: Uint8Array): Uint8Array {
  const content = new Uint8Array(1 + NONCE_BYTES + ciphertext.length);
  content[0] = DOMAIN.encryptedContent;
  content.set(nonce, 1);
  content.set(ciphertext, 1 + NONCE_BYTES);
  return hash(content);
}

function writeFields(bytes: Uint8Array, into: DataView, { state, id, tag, insertedMs }: LeafFields, at: number): void {
  bytes[at + AT.state] = state;
  writeU64(into, at + AT.id, id);
  writeU64(into, at + AT.tag, tag);
  writeU64(into, at + AT.insertedMs, insertedMs);
}

/** Grows the room for messages. It is kept, since the next records are likely of that size. */
function grow(sizeBytes: number): void {
  const before = message;
  message = new Uint8Array(2 ** Math.ceil(Math.log2(sizeBytes)));
  message.set(before);
  view = new DataView(message.buffer);
}
