/** How much room calls and their answers take in a message, so that none is made that nobody can send. */
import type { Call, SearchCall } from '../../shared/calls.js';
import { unreachable } from '../../shared/errors.js';
import type { Filter, Json } from '../../shared/filter.js';
import { GRAPH_PAGE_MAX } from '../../shared/graph.js';
import { DIMENSION_MAX } from '../../shared/limits.js';

/** Ids, names of fields, and numbers that stand alone. */
const ENVELOPE_BYTES = 256;
/** Decay, text, graph and a past state, but for the text itself. */
const SEARCH_OPTIONS_BYTES = 256;
/** At most, of one UTF-16 unit. */
const UTF8_BYTES_PER_CHAR = 3;

/** An upper bound of what the call takes in a message. */
export function sizeOf(call: Call): number {
  switch (call.op) {
    case 'search':
      return (
        ENVELOPE_BYTES +
        SEARCH_OPTIONS_BYTES +
        call.query.length +
        (call.filter === undefined ? 0 : filterSizeOf(call.filter)) +
        UTF8_BYTES_PER_CHAR * (call.text?.query.length ?? 0)
      );
    case 'insert':
      return (
        ENVELOPE_BYTES +
        call.vector.length +
        (call.metadata?.length ?? 0) +
        UTF8_BYTES_PER_CHAR * (call.text?.length ?? 0)
      );
    case 'insertBatch': {
      let sizeBytes = ENVELOPE_BYTES + call.vectors.length + 60 * call.count;
      for (const metadata of call.metadata ?? []) sizeBytes += metadata?.length ?? 0;
      for (const text of call.texts ?? []) sizeBytes += UTF8_BYTES_PER_CHAR * (text?.length ?? 0);
      return sizeBytes;
    }
    case 'updateMetadata':
      return ENVELOPE_BYTES + call.metadata.length;
    case 'insertEncrypted':
      return ENVELOPE_BYTES + call.payload.length;
    case 'importFrames':
      return call.frames.reduce((sum, frame) => sum + VALUE_BYTES + frame.length, ENVELOPE_BYTES);
    case 'get':
    case 'describe':
    case 'indexState':
    case 'getEncrypted':
    case 'readLog':
    case 'proofState':
    case 'proofReceipt':
    case 'proofInclusion':
    case 'proofConsistency':
    case 'checkpoint':
    case 'timeline':
    case 'shredKey':
    case 'softDelete':
    case 'delete':
    case 'configureIndex':
    case 'hold':
    case 'release':
    case 'rebuild':
    case 'graphNode':
    case 'graphNodes':
    case 'graphEdges':
    case 'graphSubgraph':
    case 'graphQuery':
    case 'addNode':
    case 'deleteNode':
    case 'addEdge':
    case 'deleteEdge':
      return ENVELOPE_BYTES;
    default:
      return unreachable(call);
  }
}

const BYTES_PER_COMPONENT = 4;
const BYTES_PER_ID = 8;
/** A node, an edge or a hit, with the names of its fields. */
const BYTES_PER_GRAPH_ITEM = 64;
const METADATA_BYTES = 64 * 1024;
/** Index, time and hash of the state that was searched. */
const PAST_BYTES = 128;
/** Roots, state hash, and a proof of the longest path. */
const RECEIPT_BYTES = 4 * 1024;
/** With the reason of a failed build. */
const INDEX_STATE_BYTES = 4 * 1024;
/** The largest plaintext of an encrypted record. */
const PAYLOAD_BYTES = 64 * 1024;
/** Roots, hashes and a path, or two of each. */
const PROOF_BYTES = 8 * 1024;
const BYTES_PER_TIMELINE_EVENT = 160;

/** An upper bound of what its answer takes. */
export function answerSizeOf(call: Call): number {
  switch (call.op) {
    case 'search':
      return ENVELOPE_BYTES + (call.asOf === undefined ? 0 : PAST_BYTES) + bytesPerHit(call) * call.k;
    case 'get':
      return ENVELOPE_BYTES + BYTES_PER_COMPONENT * DIMENSION_MAX + METADATA_BYTES;
    case 'getEncrypted':
      return ENVELOPE_BYTES + PAYLOAD_BYTES;
    case 'readLog':
      return ENVELOPE_BYTES + call.maxBytes;
    case 'proofState':
    case 'proofInclusion':
    case 'proofConsistency':
    case 'checkpoint':
      return ENVELOPE_BYTES + PROOF_BYTES;
    case 'timeline':
      return ENVELOPE_BYTES + BYTES_PER_TIMELINE_EVENT * call.limit;
    case 'insert':
    case 'proofReceipt':
      return ENVELOPE_BYTES + RECEIPT_BYTES;
    case 'insertBatch':
      return ENVELOPE_BYTES + BYTES_PER_ID * call.count;
    case 'indexState':
    case 'configureIndex':
      return ENVELOPE_BYTES + INDEX_STATE_BYTES;
    case 'graphNodes':
    case 'graphQuery':
      return ENVELOPE_BYTES + BYTES_PER_GRAPH_ITEM * call.limit;
    case 'graphEdges':
      return ENVELOPE_BYTES + BYTES_PER_GRAPH_ITEM * (call.limit ?? GRAPH_PAGE_MAX);
    case 'graphSubgraph':
      return ENVELOPE_BYTES + BYTES_PER_GRAPH_ITEM * 2 * GRAPH_PAGE_MAX;
    case 'describe':
    case 'insertEncrypted':
    case 'shredKey':
    case 'importFrames':
    case 'softDelete':
    case 'delete':
    case 'updateMetadata':
    case 'hold':
    case 'release':
    case 'rebuild':
    case 'graphNode':
    case 'addNode':
    case 'deleteNode':
    case 'addEdge':
    case 'deleteEdge':
      return ENVELOPE_BYTES;
    default:
      return unreachable(call);
  }
}

/** Id and score; with decay, factor and age; with the graph, hops. */
const bytesPerHit = ({ decay, graph }: SearchCall): number =>
  16 + (decay === undefined ? 0 : 16) + (graph === undefined ? 0 : 4);

/** The head of a string, an array or a map; a number is no longer than that and its type. */
const VALUE_BYTES = 9;
/** The names and kinds of one level of a filter. */
const LEVEL_BYTES = 64;

function filterSizeOf(filter: Filter): number {
  switch (filter.op) {
    case 'and':
    case 'or':
      return filter.of.reduce((sum, part) => sum + filterSizeOf(part), LEVEL_BYTES);
    case 'not':
      return LEVEL_BYTES + filterSizeOf(filter.of);
    case 'test':
      return (
        LEVEL_BYTES +
        jsonSizeOf(filter.path) +
        jsonSizeOf('values' in filter.test ? filter.test.values : filter.test.value)
      );
    default:
      return unreachable(filter);
  }
}

function jsonSizeOf(value: Json): number {
  if (typeof value === 'string') return VALUE_BYTES + UTF8_BYTES_PER_CHAR * value.length;
  if (value === null || typeof value !== 'object') return VALUE_BYTES;
  if (Array.isArray(value)) return value.reduce((sum: number, item: Json) => sum + jsonSizeOf(item), VALUE_BYTES);
  return Object.entries(value).reduce((sum, [key, item]) => sum + jsonSizeOf(key) + jsonSizeOf(item), VALUE_BYTES);
}
