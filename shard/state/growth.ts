/**
 * The bytes that an event adds to its collection: its own in the log, and those that are held besides it (see `HeldBytes`).
 * What it frees is not subtracted.
 */
import type { Event } from '../../shared/log/event.js';
import {
  contentBytes,
  eventSizeBytes,
  insertEncryptedSizeBytes,
  insertSizeBytes,
} from '../../shared/log/eventLayout.js';
import { EVENT_PREFIX_BYTES } from '../../shared/log/frame.js';

/** Bytes that an insert or a replacement adds, from the size of all its fields together. */
export const insertedBytes = (content: number): number => EVENT_PREFIX_BYTES + insertSizeBytes(content) + content;

export const insertedEncryptedBytes = (ciphertextBytes: number): number =>
  EVENT_PREFIX_BYTES + insertEncryptedSizeBytes(ciphertextBytes) + ciphertextBytes;

export function addedBytes(event: Event): number {
  const inLog = EVENT_PREFIX_BYTES + eventSizeBytes(event);
  switch (event.type) {
    case 'insert':
    case 'replace':
      return insertedBytes(contentBytes(event));
    case 'insertEncrypted':
      return insertedEncryptedBytes(event.ciphertext.length);
    case 'updateMetadata':
      return inLog + event.metadata.length;
    default:
      return inLog;
  }
}
