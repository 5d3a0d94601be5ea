/** Properties of each call on its way: the verb of its subject, whether it travels alone, upper bounds of its size and its answer's. */
import { DIMENSION_MAX, ERASED_CONTENTS_MAX, EXTERNAL_ID_MAX_BYTES } from '../../../shared/limits.js';
import { GRAPH_PAGE_MAX } from '../../../shared/model/graph.js';
import type { Call, SearchBatchCall, SearchCall } from '../../../shared/protocol/calls.js';
import { HEAD_BYTES, packedBytesMax } from '../../../shared/protocol/packedSize.js';
import type { DeleteManyCall, PatchManyCall } from '../../../shared/protocol/writes.js';
import type { Verb } from '../../../shared/transport/subjects.js';

/** The request id, the deadline, and single numbers of an answer. */
const ENVELOPE_BYTES = 256;
/** Index, time and hash of the searched state. */
const AS_OF_BYTES = 128;
const ID_BYTES = 8;
/** A count and the head of its value. */
const FACET_BYTES = 16;
/** A node or an edge with its field names. */
const GRAPH_ITEM_BYTES = 64;
const RECORD_BYTES = 4 * DIMENSION_MAX + 64 * 1024;
/** Roots, state hash, and a proof of the longest path. */
const RECEIPT_BYTES = 4 * 1024;
/** With the reason of a failed build. */
const INDEX_STATE_BYTES = 4 * 1024;
/** The largest plaintext of an encrypted record. */
const PAYLOAD_BYTES = 64 * 1024;
/** At most two roots, hashes and paths. */
const PROOF_BYTES = 8 * 1024;
const TIMELINE_EVENT_BYTES = 160;
const ERASED_CONTENT_BYTES = 64;
/** A page has at least one entry, however large it is. */
const ACCESS_ENTRY_BYTES = 1024 * 1024;
/** The id of a key in an answer. */
const KEY_ID_BYTES = HEAD_BYTES + 32;

interface Traits<C> {
  readonly verb: Verb;
  /** Beyond ENVELOPE_BYTES; absent: nothing. */
  readonly answerBytes?: (call: C) => number;
  /** Whether it may take long; absent: it does not. */
  readonly isLong?: (call: C) => boolean;
}

const isLong = (): boolean => true;

const TRAITS: { readonly [Op in Call['op']]: Traits<Extract<Call, { op: Op }>> } = {
  get: { verb: 'read', answerBytes: () => RECORD_BYTES },
  search: { verb: 'read', answerBytes: hitsBytes, isLong: hasManyTurns },
  searchBatch: { verb: 'read', answerBytes: batchBytes, isLong },
  listRecords: { verb: 'read', answerBytes: ({ maxBytes }) => maxBytes + RECORD_BYTES, isLong },
  getRecords: { verb: 'read', answerBytes: ({ maxBytes }) => maxBytes + RECORD_BYTES, isLong },
  countRecords: { verb: 'read', isLong },
  facets: { verb: 'read', answerBytes: ({ limit, maxBytes }) => maxBytes + FACET_BYTES * limit, isLong },
  vectorOf: { verb: 'read', answerBytes: () => RECORD_BYTES },
  describe: { verb: 'read' },
  indexState: { verb: 'read', answerBytes: () => INDEX_STATE_BYTES },
  graphNode: { verb: 'read' },
  graphNodes: { verb: 'read', answerBytes: ({ limit }) => GRAPH_ITEM_BYTES * limit },
  graphEdges: { verb: 'read', answerBytes: ({ limit }) => GRAPH_ITEM_BYTES * (limit ?? GRAPH_PAGE_MAX) },
  graphSubgraph: { verb: 'read', answerBytes: () => GRAPH_ITEM_BYTES * 2 * GRAPH_PAGE_MAX, isLong },
  graphQuery: { verb: 'read', answerBytes: ({ limit }) => GRAPH_ITEM_BYTES * limit, isLong },
  getEncrypted: { verb: 'read', answerBytes: () => PAYLOAD_BYTES, isLong },
  readLog: { verb: 'read', answerBytes: ({ maxBytes }) => maxBytes, isLong },
  proofState: { verb: 'read', answerBytes: () => PROOF_BYTES, isLong },
  proofReceipt: { verb: 'read', answerBytes: () => RECEIPT_BYTES, isLong },
  proofInclusion: { verb: 'read', answerBytes: () => PROOF_BYTES, isLong },
  proofConsistency: { verb: 'read', answerBytes: () => PROOF_BYTES, isLong },
  checkpoint: { verb: 'read', answerBytes: () => PROOF_BYTES, isLong },
  keysOf: { verb: 'read', answerBytes: ({ keysMax }) => KEY_ID_BYTES * keysMax, isLong },
  countUnderKeys: { verb: 'read', isLong },
  erasures: {
    verb: 'read',
    answerBytes: ({ keyIds }) => PROOF_BYTES * (1 + keyIds.length) + ERASED_CONTENT_BYTES * ERASED_CONTENTS_MAX,
    isLong,
  },
  erasureProofs: { verb: 'read', answerBytes: ({ sequences }) => PROOF_BYTES * sequences.length, isLong },
  timeline: { verb: 'read', answerBytes: ({ limit }) => TIMELINE_EVENT_BYTES * limit, isLong },
  insert: { verb: 'write', answerBytes: () => RECEIPT_BYTES, isLong: ({ keyId }) => keyId === 'new' },
  insertBatch: {
    verb: 'write',
    answerBytes: ({ count }) => (ID_BYTES + KEY_ID_BYTES) * count,
    isLong: ({ keyIds }) => keyIds !== undefined,
  },
  deleteMany: { verb: 'write', answerBytes: placesBytes, isLong: ({ of }) => 'filter' in of },
  insertEncrypted: { verb: 'write', isLong },
  updateMetadata: { verb: 'write' },
  patchMetadata: { verb: 'write' },
  patchMany: { verb: 'write', answerBytes: placesBytes, isLong },
  shredKey: { verb: 'write', isLong },
  softDelete: { verb: 'write' },
  delete: { verb: 'write' },
  addNode: { verb: 'write' },
  deleteNode: { verb: 'write' },
  addEdge: { verb: 'write' },
  deleteEdge: { verb: 'write' },
  auditReads: { verb: 'write' },
  // The entries of several reads are in it already: see `AccessEntries`.
  logAccess: { verb: 'control', isLong },
  trimAccess: { verb: 'control', isLong },
  accessPage: { verb: 'read', answerBytes: ({ maxBytes }) => maxBytes + ACCESS_ENTRY_BYTES, isLong },
  accessFrames: { verb: 'read', answerBytes: ({ maxBytes }) => maxBytes + ACCESS_ENTRY_BYTES, isLong },
  configureIndex: { verb: 'control', answerBytes: () => INDEX_STATE_BYTES, isLong },
  hold: { verb: 'control', isLong },
  release: { verb: 'control', isLong },
  rebuild: { verb: 'control', isLong },
  importFrames: { verb: 'control', isLong },
};

export const verbOfCall = ({ op }: Call): Verb => TRAITS[op].verb;

/**
 * Whether the call travels in a message of its own. All calls of a message are answered together. A call that takes many turns
 * of the shard, waits for the vault or reads the log must not delay the others. In an `erasable` collection each insert may wait for
 * the vault. See `OpenKeys` for single inserts under named keys.
 */
export const travelsAlone = (call: Call, isErasable: boolean): boolean =>
  (isErasable && makesKeys(call)) || ((TRAITS[call.op] as Traits<Call>).isLong?.(call) ?? false);

/** Whether a collection that is `erasable` makes fresh keys for the call. */
const makesKeys = (call: Call): boolean =>
  call.op === 'insertBatch' || (call.op === 'insert' && call.keyId === undefined);

export const sizeOf = (call: Call): number => ENVELOPE_BYTES + packedBytesMax(call);

export const answerSizeOf = (call: Call): number =>
  ENVELOPE_BYTES + ((TRAITS[call.op] as Traits<Call>).answerBytes?.(call) ?? 0);

/** A search whose answer states its sequence is eventual: a follower may answer it. */
export const mayAskFollowers = (call: Call): boolean =>
  (call.op === 'search' && call.tellSequence === true) || (call.op === 'searchBatch' && call.eventual === true);

/** A search of the present that must see every answered write: the owner answers it, or a follower that has asked the owner. */
export const isStrongSearch = (call: Call): boolean =>
  (call.op === 'search' || call.op === 'searchBatch') && call.asOf === undefined && !mayAskFollowers(call);

/** The searches in a call. */
export const searchesIn = (call: Call): number => {
  if (call.op === 'searchBatch') return call.searches.length;
  return call.op === 'search' ? 1 : 0;
};

/** Whether the search may take many turns: of a past state, of texts, over the graph, in groups, or diverse. */
function hasManyTurns({ asOf, text, graph, group, diversity }: SearchCall): boolean {
  return (asOf ?? text ?? graph ?? group ?? diversity) !== undefined;
}

/** Bytes for the places of missing records in the list of the call. */
function placesBytes({ of }: DeleteManyCall | PatchManyCall): number {
  return 'filter' in of ? 0 : HEAD_BYTES * ('ids' in of ? of.ids.length : of.externalIds.length);
}

/** Id, score and external id of each hit; factor and age with decay; the text's score; hops with the graph; the place of its group. */
function hitsBytes({ k, decay, text, graph, group, asOf, maxBytes = 0 }: Omit<SearchCall, 'op' | 'query'>): number {
  const hitBytes =
    16 +
    HEAD_BYTES +
    EXTERNAL_ID_MAX_BYTES +
    (decay === undefined ? 0 : 16) +
    (text?.fusion === undefined ? 0 : 8) +
    (graph === undefined ? 0 : 4) +
    (group === undefined ? 0 : 4);
  return (asOf === undefined ? 0 : AS_OF_BYTES) + hitBytes * k * (group?.size ?? 1) + maxBytes;
}

function batchBytes({ searches, maxBytes }: SearchBatchCall): number {
  return searches.reduce((sum, search) => sum + ENVELOPE_BYTES + hitsBytes(search), maxBytes);
}
