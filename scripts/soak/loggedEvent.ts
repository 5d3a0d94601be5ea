/** An event as the verifier reads it, in the checker's words. */
import { FIXED_ONE } from '../../shared/limits.js';
import type { LogEvent } from '../verifier/events.js';
import type { LoggedEvent } from './checker/log.js';
import type { Metadata } from './history/records.js';

/** Throws where the event is of a kind that no client of a soak causes. */
export function loggedEvent(event: LogEvent): LoggedEvent {
  switch (event.type) {
    case 'insert':
      return {
        type: 'insert',
        recordId: Number(event.recordId),
        requestId: event.requestId?.toString('hex') ?? null,
        vector: components(event.vector),
        metadata: metadataIn(event.metadata),
      };
    case 'insert encrypted':
      return {
        type: 'insertEncrypted',
        recordId: Number(event.recordId),
        requestId: event.requestId?.toString('hex') ?? null,
        keyId: event.keyId.toString('hex'),
        mark: Number(event.tag),
      };
    case 'soft delete':
      return { type: 'softDelete', recordId: Number(event.recordId) };
    case 'delete':
      return { type: 'delete', recordId: Number(event.recordId) };
    case 'update metadata':
      return { type: 'updateMetadata', recordId: Number(event.recordId), metadata: metadataIn(event.metadata) };
    case 'shred key':
      return { type: 'shredKey', keyId: event.keyId.toString('hex') };
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
    default:
      throw new Error(`the clients of a soak never cause an event "${event.type}"`);
  }
}

const components = (vector: Buffer): number[] =>
  Array.from({ length: vector.length / 4 }, (_, i) => vector.readInt32LE(4 * i) / FIXED_ONE);

/** What no client wrote has a mark that no client made. */
function metadataIn(bytes: Buffer | null): Metadata {
  try {
    return JSON.parse(bytes?.toString() ?? '') as Metadata;
  } catch {
    return { color: -1, mark: -1 };
  }
}
