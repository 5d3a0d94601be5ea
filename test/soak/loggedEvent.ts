/** Converts an event of the verifier to the checker's form. */
import { readU32, toHex } from '../../verifier/bytes.js';
import type { LogEvent } from '../../verifier/events.js';
import type { LoggedEvent } from './checker/log.js';
import type { Metadata } from './history/records.js';

/** `one`: the stored integer of a component of 1. `isExpiry`: the service removed a record. Throws an Error for an event that no client of a soak causes. */
export function loggedEvent(event: LogEvent, one: number, isExpiry: boolean): LoggedEvent {
  switch (event.type) {
    case 'insert':
      return {
        type: 'insert',
        recordId: Number(event.recordId),
        requestId: event.requestId && toHex(event.requestId),
        vector: components(event.vector, one),
        metadata: metadataIn(event.metadata),
        text: event.text && Buffer.from(event.text).toString(),
      };
    case 'insert encrypted':
      return {
        type: 'insertEncrypted',
        recordId: Number(event.recordId),
        requestId: event.requestId && toHex(event.requestId),
        keyId: toHex(event.keyId),
        mark: Number(event.tag),
      };
    case 'soft delete':
      return { type: 'softDelete', recordId: Number(event.recordId) };
    case 'delete':
      return { type: isExpiry ? 'expire' : 'delete', recordId: Number(event.recordId) };
    case 'update metadata':
      return { type: 'updateMetadata', recordId: Number(event.recordId), metadata: metadataIn(event.metadata) };
    case 'shred key':
      return { type: 'shredKey', keyId: toHex(event.keyId) };
    case 'add node': {
      const { nodeId, recordId, kind } = event;
      return { type: 'addNode', nodeId: Number(nodeId), recordId: recordId === 0n ? null : Number(recordId), kind };
    }
    case 'delete node':
      return { type: 'deleteNode', nodeId: Number(event.nodeId) };
    case 'add edge': {
      const { edgeId, from, to, kind } = event;
      return { type: 'addEdge', edgeId: Number(edgeId), from: Number(from), to: Number(to), kind };
    }
    case 'delete edge':
      return { type: 'deleteEdge', edgeId: Number(event.edgeId) };
    case 'audit reads':
      return { type: 'auditReads' };
    default:
      throw new Error(`the clients of a soak never cause an event "${event.type}"`);
  }
}

const components = (vector: Uint8Array, one: number): number[] =>
  Array.from({ length: vector.length / 4 }, (_, i) => (readU32(vector, 4 * i) | 0) / one);

/** Parses metadata. Without JSON, which every client writes, it gets a mark that no client uses. */
function metadataIn(bytes: Uint8Array | null): Metadata {
  try {
    return JSON.parse(Buffer.from(bytes ?? []).toString()) as Metadata;
  } catch {
    return { color: -1, mark: -1 };
  }
}
