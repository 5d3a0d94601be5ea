/**
 * The bytes that an event adds to its collection: in the log, without its actor, and besides it (see `HeldBytes`). Bytes that it
 * frees are not subtracted.
 */
import { unreachable } from '../../shared/errors/errors.js';
import type { Event } from '../../shared/log/event.js';
import {
  BESIDE_EVENT_BYTES,
  contentBytes,
  eventSizeBytes,
  expiryBytes,
  insertEncryptedSizeBytes,
  insertSizeBytes,
  updateMetadataSizeBytes,
} from '../../shared/log/eventLayout.js';

/** Returns the bytes that an insert or a replacement adds, from the size of all its fields together. */
export const insertedBytes = (content: number): number => BESIDE_EVENT_BYTES + insertSizeBytes(content) + content;

export const insertedEncryptedBytes = (ciphertextBytes: number): number =>
  BESIDE_EVENT_BYTES + insertEncryptedSizeBytes(ciphertextBytes) + ciphertextBytes;

/** Returns the bytes that new metadata adds. */
export const updatedBytes = (metadataBytes: number): number =>
  BESIDE_EVENT_BYTES + updateMetadataSizeBytes(metadataBytes) + metadataBytes;

export function addedBytes(event: Event): number {
  const inLog = BESIDE_EVENT_BYTES + eventSizeBytes(event);
  switch (event.type) {
    case 'insert':
    case 'replace':
      return insertedBytes(contentBytes(event)) + expiryBytes(event);
    case 'insertEncrypted':
      return insertedEncryptedBytes(event.ciphertext.length) + expiryBytes(event);
    case 'insertUnderKey':
    case 'replaceUnderKey':
      return inLog + (event.content === null ? 0 : contentBytes(event.content)) + expiryBytes(event);
    case 'updateUnderKey':
      return inLog + (event.content?.metadata?.length ?? 0);
    case 'updateMetadata':
      return updatedBytes(event.metadata.length);
    case 'genesis':
    case 'softDelete':
    case 'delete':
    case 'shredKey':
    case 'addNode':
    case 'deleteNode':
    case 'addEdge':
    case 'deleteEdge':
    case 'deleteMany':
    case 'auditReads':
      return inLog;
    default:
      return unreachable(event);
  }
}
