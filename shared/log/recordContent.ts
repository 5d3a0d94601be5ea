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
import { DOMAIN, hash } from '../hashing/hash.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import type { RecordContent } from './event.js';
import { byteView } from './eventBytes.js';
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

/** The message that a commitment hashes. It is overwritten after each use. */
let scratch = new Uint8Array(4_096);

function messageOf(plaintextLength: number): Uint8Array {
  const end = DOMAIN_BYTES + plaintextLength;
  if (end > scratch.length) scratch = new Uint8Array(2 ** Math.ceil(Math.log2(end)));
  scratch[0] = DOMAIN.contentUnderKey;
  return scratch.subarray(0, end);
}

/**
 * Returns the plaintext, and the commitment to it. `random`: gives the salt. The caller overwrites the plaintext before the
 * next call, which uses its memory.
 */
export function committedContent(
  content: RecordContent,
  random: EntropyPool,
): { readonly plaintext: Uint8Array; readonly commitment: Uint8Array } {
  const message = messageOf(plaintextBytes(contentBytes(content)));
  const plaintext = message.subarray(DOMAIN_BYTES);
  random.fill(plaintext.subarray(0, SALT_BYTES));
  writeContent(content, message, DOMAIN_BYTES + SALT_BYTES);
  return { plaintext, commitment: hash(message) };
}

/** Returns the part of the plaintext after the salt. */
export function encodeContent(content: RecordContent): Uint8Array {
  const bytes = new Uint8Array(AT.vector + contentBytes(content));
  writeContent(content, bytes, 0);
  return bytes;
}

function writeContent(content: RecordContent, bytes: Uint8Array, from: number): void {
  const { tag, vector, metadata, text, externalId } = content;
  const { view } = byteView(bytes);
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
  for (const field of [vector, metadata, text, externalId]) {
    if (field === null) continue;
    bytes.set(field, at);
    at += field.length;
  }
}

/** Returns the commitment to a plaintext. */
export function commitmentTo(plaintext: Uint8Array): Uint8Array {
  const message = messageOf(plaintext.length);
  message.set(plaintext, DOMAIN_BYTES);
  const commitment = hash(message);
  message.fill(0);
  return commitment;
}

/** Returns views of the bytes, a plaintext without its salt. Throws Malformed. */
export function decodeContent(encoded: Uint8Array): RecordContent {
  const { bytes, view } = byteView(encoded);
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
