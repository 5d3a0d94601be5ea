/**
 * The events with content under a shredded key, as a statement of erasure hashes them. 64 bytes each, by sequence:
 *
 * ```text
 * u64 sequence | u64 record id | u64 time_ms | u8 type of the event | 0^7 | commitment (32)
 * ```
 *
 * The commitment is that of the event; for an encrypted payload the hash of nonce and ciphertext.
 */
import { DOMAIN, hash } from '../hashing/hash.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import { HASH_BYTES } from '../limits.js';
import type { EventUnderKey, InsertEncrypted } from './event.js';
import { EVENT_TYPE } from './eventLayout.js';

export type ContentType = (EventUnderKey | InsertEncrypted)['type'];

export interface ErasedContent {
  readonly sequence: number;
  readonly recordId: number;
  readonly timeMs: number;
  readonly type: ContentType;
  readonly commitment: Uint8Array;
}

const AT = { sequence: 0, recordId: 8, timeMs: 16, type: 24, commitment: 32 } as const;
export const CONTENT_BYTES = AT.commitment + HASH_BYTES;

const TYPES: readonly ContentType[] = ['insertEncrypted', 'insertUnderKey', 'replaceUnderKey', 'updateUnderKey'];

export function encodeErasedContents(contents: readonly ErasedContent[]): Uint8Array {
  const bytes = new Uint8Array(CONTENT_BYTES * contents.length);
  const view = new DataView(bytes.buffer);
  for (const [i, { sequence, recordId, timeMs, type, commitment }] of contents.entries()) {
    const begin = i * CONTENT_BYTES;
    writeU64(view, begin + AT.sequence, sequence);
    writeU64(view, begin + AT.recordId, recordId);
    writeU64(view, begin + AT.timeMs, timeMs);
    bytes[begin + AT.type] = EVENT_TYPE[type];
    bytes.set(commitment, begin + AT.commitment);
  }
  return bytes;
}

/** Decodes what `encodeErasedContents` returned. */
export function decodeErasedContents(bytes: Uint8Array): ErasedContent[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / CONTENT_BYTES }, (_, i) => {
    const begin = i * CONTENT_BYTES;
    return {
      sequence: readU64(view, begin + AT.sequence),
      recordId: readU64(view, begin + AT.recordId),
      timeMs: readU64(view, begin + AT.timeMs),
      type: TYPES.find((type) => EVENT_TYPE[type] === bytes[begin + AT.type])!,
      commitment: bytes.slice(begin + AT.commitment, begin + CONTENT_BYTES),
    };
  });
}

/** Returns H(0x1c ‖ the bytes). */
export const erasedContentsHash = (bytes: Uint8Array): Uint8Array =>
  hash(Buffer.concat([Uint8Array.of(DOMAIN.erasedContents), bytes]));

/** Returns H(0x1d ‖ UTF-8 of the text), by which a certificate names the statement of a collection. */
export const erasureStatementHash = (text: string): Uint8Array =>
  hash(Buffer.concat([Uint8Array.of(DOMAIN.erasureStatement), Buffer.from(text, 'utf8')]));
