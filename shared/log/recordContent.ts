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
import { Malformed } from '../errors/malformed.js';
import { DOMAIN, hash } from '../hashing/hash.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import type { RecordContent } from './event.js';
import { byteView } from './eventBytes.js';
import { contentBytes, FLAG } from './eventLayout.js';

export const SALT_BYTES = 32;
/** A byte before the plaintext, so that the commitment hashes it in place. */
const DOMAIN_BYTES = 1;
const AT = {
  tag: 32,
  flags: 40,
  externalIdLength: 42,
  metadataLength: 44,
  textLength: 48,
  dimension: 52,
  vector: 56,
} as const;

/** Bytes of a plaintext, from the size of all its fields together. */
export const plaintextBytes = (content: number): number => AT.vector + content;

/** Returns the plaintext, and the commitment to it. */
export function committedContent(
  content: RecordContent,
  salt: Uint8Array,
): { readonly plaintext: Uint8Array; readonly commitment: Uint8Array } {
  const { tag, vector, metadata, text, externalId } = content;
  const message = new Uint8Array(DOMAIN_BYTES + plaintextBytes(contentBytes(content)));
  const plaintext = message.subarray(DOMAIN_BYTES);
  const { view } = byteView(plaintext);
  message[0] = DOMAIN.contentUnderKey;
  plaintext.set(salt);
  writeU64(view, AT.tag, tag);
  plaintext[AT.flags] =
    (metadata === null ? 0 : FLAG.metadata) |
    (text === null ? 0 : FLAG.text) |
    (externalId === null ? 0 : FLAG.externalId);
  view.setUint16(AT.externalIdLength, externalId?.length ?? 0, true);
  view.setUint32(AT.metadataLength, metadata?.length ?? 0, true);
  view.setUint32(AT.textLength, text?.length ?? 0, true);
  view.setUint32(AT.dimension, vector.length / 4, true);
  let at: number = AT.vector;
  for (const field of [vector, metadata, text, externalId]) {
    if (field === null) continue;
    plaintext.set(field, at);
    at += field.length;
  }
  return { plaintext, commitment: hash(message) };
}

/** Returns the commitment to a plaintext. */
export function commitmentTo(plaintext: Uint8Array): Uint8Array {
  const message = new Uint8Array(DOMAIN_BYTES + plaintext.length);
  message[0] = DOMAIN.contentUnderKey;
  message.set(plaintext, DOMAIN_BYTES);
  const commitment = hash(message);
  message.fill(0);
  return commitment;
}

/** Returns views of the plaintext. Throws Malformed. */
export function contentOf(plaintext: Uint8Array): RecordContent {
  const { bytes, view } = byteView(plaintext);
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
