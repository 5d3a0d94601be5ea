/** Every kind of call: its HTTP request, and its outcome from the answer. */

import type { Outcome } from '../history/asked.js';
import type { Call } from '../history.js';
import { moveAlias, searchAlias } from './calls/aliases.js';
import type { HttpRequest, Wanted, Way } from './calls/call.js';
import { addEdge, addNode, edges, getNode, subgraph, unlink } from './calls/graph.js';
import { configureIndex, indexState } from './calls/indexes.js';
import { list } from './calls/lists.js';
import { state, timeline } from './calls/proofs.js';
import { getRecord, insert, insertBatch, mergeMany, mergeMetadata, remove, updateMetadata } from './calls/records.js';
import { multiSearch, search } from './calls/searches.js';
import { getEncrypted, insertEncrypted, keyStatus, shred } from './calls/secrets.js';
import { searchHybrid, searchText } from './calls/texts.js';
import type { Exchange } from './httpCall.js';

const WAYS = {
  insert,
  insertBatch,
  softDelete: remove,
  delete: remove,
  updateMetadata,
  mergeMetadata,
  mergeMany,
  get: getRecord,
  search,
  multiSearch,
  list,
  searchText,
  searchHybrid,
  moveAlias,
  searchAlias,
  insertEncrypted,
  getEncrypted,
  shred,
  keyStatus,
  addNode,
  addEdge,
  deleteNode: unlink,
  deleteEdge: unlink,
  getNode,
  edges,
  subgraph,
  state,
  timeline,
  configureIndex,
  indexState,
} as const satisfies Record<Call['op'], unknown>;

/** The table holds the exact types; this look-up loses the relation between call and way. */
const wayOf = ({ op }: Wanted): Way<Call, unknown> => WAYS[op] as unknown as Way<Call, unknown>;

export const requestOf = (wanted: Wanted): HttpRequest => wayOf(wanted).request(wanted);

/** After a 503 the effect of a write is unknown; no other status from 500 on may occur. */
export function outcomeOf(wanted: Wanted, exchange: Exchange): Outcome<unknown> {
  if (exchange.status === undefined) return { kind: 'unknown', why: exchange.why };
  const { status, body } = exchange;
  const { code, error } = (body ?? {}) as { code?: string; error?: string };
  if (status === 200 || status === 202) return answered(wanted, body);
  const no = wayOf(wanted).noes?.[`${status} ${code}`];
  if (no !== undefined) return { kind: no };
  if (status === 503) return { kind: 'unknown', why: `503: ${error}` };
  return { kind: 'refused', why: `${status} ${code}: ${error}` };
}

function answered(wanted: Wanted, body: unknown): Outcome<unknown> {
  try {
    return { kind: 'ok', answer: wayOf(wanted).answer(body, wanted) };
  } catch (error) {
    return {
      kind: 'refused',
      why: `an answer that cannot be read (${(error as Error).message}): ${JSON.stringify(body)}`,
    };
  }
}
