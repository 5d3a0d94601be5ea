import { unreachable } from '../../shared/errors.js';
import type { Event } from '../../shared/log/event.js';

// What heap and hash trees grow by: records and descriptions as measured over replays of 100,000, rounded up; the others by
// what lists and trees hold of them.
const RECORD_BYTES = 160;
const DESCRIPTION_BYTES = 200;
const CHANGE_BYTES = 64;
/** Of an encrypted record; its ciphertext stays in the log. */
const ENCRYPTED_BYTES = 480;
const SHREDDED_KEY_BYTES = 112;
const NODE_BYTES = 192;
const EDGE_BYTES = 160;
/** A byte of metadata or text is kept as it is, and in an index. */
const BYTES_PER_BYTE = 3;

/**
 * About what a state grows by when it takes in the event, its vector not counted. What is deleted leaves most of that
 * behind, so nothing is taken off for it.
 */
export function describedBytes(event: Event): number {
  switch (event.type) {
    case 'genesis':
      return 0;
    case 'insert':
      return RECORD_BYTES + descriptionBytes(event.metadata) + descriptionBytes(event.text);
    case 'insertEncrypted':
      return ENCRYPTED_BYTES;
    case 'shredKey':
      return SHREDDED_KEY_BYTES;
    case 'updateMetadata':
      return CHANGE_BYTES + descriptionBytes(event.metadata);
    case 'softDelete':
    case 'delete':
    case 'deleteNode':
    case 'deleteEdge':
      return CHANGE_BYTES;
    case 'addNode':
      return NODE_BYTES;
    case 'addEdge':
      return EDGE_BYTES;
    default:
      return unreachable(event);
  }
}

const descriptionBytes = (description: Uint8Array | null): number =>
  description === null ? 0 : DESCRIPTION_BYTES + BYTES_PER_BYTE * description.length;
