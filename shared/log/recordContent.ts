/**
 * The plaintext of a record under a key, and the commitment to it. All integers are little-endian.
 *
 * ```text
 * 0 salt (32) | 32 u64 tag | 40 u8 flags (2 metadata, 4 text, 8 external id) | 42 u16 external id length |
 * 44 u32 metadata length | 48 u32 text length | 52 u32 dimension | 56 i32 × dimension | metadata | text utf8 |
 * external id utf8
 * ```
 *
 * The commitment is H(0x1b ‖ plaintext). Without the salt no guess of the content can be tested.
 */

import type { EntropyPool } from '../entropyPool.js';
import { Malformed } from '../errors/malformed.js';
import { DOMAIN, hash, hashInto, hashTogetherInto } from '../hashing/hash.js';
import { TOGETHER, TOGETHER_BYTES_MAX } from '../hashing/longHash.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import { HASH_BYTES } from '../limits.js';
import type { RecordContent } from './event.js';
import { type ByteView, byteView } from './eventBytes.js';
import { contentBytes, FLAG } from './eventLayout.js';

export const SALT_BYTES = 32;
/** A byte before the plaintext, so that the commitment hashes it in place. */
const DOMAIN_BYTES = 1;
/** Offsets after the salt. */
const AT = {
  tag: 0,
  flags: 8,
  externalIdLength: 10,
  metadataLength: 12,
  textLength: 16,
  dimension: 20,
  vector: 24,
} as const;

/** Bytes of a plaintext, from the size of all its fields together. */
export const plaintextBytes = (content: number): number => SALT_BYTES + AT.vector + content;

/** The messages that commitments hash. They are overwritten after each use. */
let scratch = byteView(new Uint8Array(4_096));

function reserve(sizeBytes: number): void {
  if (sizeBytes > scratch.bytes.length) scratch = byteView(new Uint8Array(2 ** Math.ceil(Math.log2(sizeBytes))));
}

/**
 * Returns the plaintext, and the commitment to it. `random`: gives the salt. The caller overwrites the plaintext before the
 * next call, which uses its memory.
 */
export function committedContent(
  content: RecordContent,
  random: EntropyPool,
): { readonly plaintext: Uint8Array; readonly commitment: Uint8Array } {
  const end = DOMAIN_BYTES + plaintextBytes(contentBytes(content));
  reserve(end);
  const { bytes } = scratch;
  bytes[0] = DOMAIN.contentUnderKey;
  random.fill(bytes.subarray(DOMAIN_BYTES, DOMAIN_BYTES + SALT_BYTES));
  writeContent(content, scratch, DOMAIN_BYTES + SALT_BYTES);
  return { plaintext: bytes.subarray(DOMAIN_BYTES, end), commitment: hash(bytes.subarray(0, end)) };
}

/** Returns the part of the plaintext after the salt. */
export function encodeContent(content: RecordContent): Uint8Array {
  const target = byteView(new Uint8Array(AT.vector + contentBytes(content)));
  writeContent(content, target, 0);
  return target.bytes;
}

function writeContent(content: RecordContent, { bytes, view }: ByteView, from: number): void {
  const { tag, vector, metadata, text, externalId } = content;
  writeU64(view, from + AT.tag, tag);
  bytes[from + AT.flags] =
    (metadata === null ? 0 : FLAG.metadata) |
    (text === null ? 0 : FLAG.text) |
    (externalId === null ? 0 : FLAG.externalId);
  bytes[from + AT.flags + 1] = 0;
  view.setUint16(from + AT.externalIdLength, externalId?.length ?? 0, true);
  view.setUint32(from + AT.metadataLength, metadata?.length ?? 0, true);
  view.setUint32(from + AT.textLength, text?.length ?? 0, true);
  view.setUint32(from + AT.dimension, vector.length / 4, true);
  let at = from + AT.vector;
  bytes.set(vector, at);
  at += vector.length;
  if (metadata !== null) bytes.set(metadata, at);
  at += metadata?.length ?? 0;
  if (text !== null) bytes.set(text, at);
  at += text?.length ?? 0;
  if (externalId !== null) bytes.set(externalId, at);
}

/** Returns the commitments to plaintexts, one after another. TOGETHER plaintexts of one size take half the time. */
export function commitmentsTo(plaintexts: readonly Uint8Array[]): Uint8Array {
  const commitments = new Uint8Array(plaintexts.length * HASH_BYTES);
  const starts: number[] = [];
  let end = 0;
  for (const { length } of plaintexts) {
    starts.push(end);
    end += DOMAIN_BYTES + length;
  }
  reserve(end);
  const { bytes } = scratch;
  for (const [i, plaintext] of plaintexts.entries()) {
    bytes[starts[i]!] = DOMAIN.contentUnderKey;
    bytes.set(plaintext, starts[i]! + DOMAIN_BYTES);
  }
  const sizeBytes = DOMAIN_BYTES + (plaintexts[0]?.length ?? 0);
  const isOneSize = plaintexts.every(({ length }) => DOMAIN_BYTES + length === sizeBytes);
  if (plaintexts.length === TOGETHER && isOneSize && sizeBytes <= TOGETHER_BYTES_MAX)
    hashTogetherInto(bytes, starts, sizeBytes, { target: commitments, at: 0 });
  else
    for (const [i, start] of starts.entries())
      hashInto(bytes.subarray(start, starts[i + 1] ?? end), commitments, i * HASH_BYTES);
  bytes.fill(0, 0, end);
  return commitments;
}

/** Returns views of the bytes from `from` on: a plaintext without its salt. Throws Malformed. */
export function decodeContent({ buffer, byteOffset, length }: Uint8Array, from = 0): RecordContent {
  const bytes = new Uint8Array(buffer, byteOffset + from, length - from);
  const view = new DataView(buffer, byteOffset + from, length - from);
  if (bytes.length < AT.vector) throw new Malformed('a content that is too short', bytes.length);
  const flags = bytes[AT.flags]!;
  const vectorEnd = AT.vector + 4 * view.getUint32(AT.dimension, true);
  const metadataEnd = vectorEnd + view.getUint32(AT.metadataLength, true);
  const textEnd = metadataEnd + view.getUint32(AT.textLength, true);
  if (textEnd + view.getUint16(AT.externalIdLength, true) !== bytes.length)
    throw new Malformed('a content whose lengths do not add up', AT.dimension);
  return {
    tag: readU64(view, AT.tag),
    vector: bytes.subarray(AT.vector, vectorEnd),
    metadata: (flags & FLAG.metadata) === 0 ? null : bytes.subarray(vectorEnd, metadataEnd),
    text: (flags & FLAG.text) === 0 ? null : bytes.subarray(metadataEnd, textEnd),
    externalId: (flags & FLAG.externalId) === 0 ? null : bytes.subarray(textEnd),
  };
}
