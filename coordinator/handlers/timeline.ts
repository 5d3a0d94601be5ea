/** What happened to a collection, event by event. */
import type { TimelineEventType, TimelineEvent as WrittenEvent } from '../../shared/proofs.js';
import { instantMs } from '../body/instant.js';
import { isDateTime, type TimelineEvent, type TimelineQuery, type TimelineResponse } from '../contract/proofs.js';
import { invalid } from '../contract/refusal.js';
import { json, type Reply } from '../http/reply.js';
import { findCollection } from './findCollection.js';
import type { HandlerRequest, Services } from './route.js';

const LIMIT = 100;
/** Up to the year 5138. */
const WHOLE_SECONDS = /^\d{1,11}$/;
const SECOND_MS = 1_000;
/** Digits after the milliseconds, of which one is not 0. */
const BEYOND_MS = /\.\d{3}\d*[1-9]/;

const SHOWN_TYPE: Readonly<Record<TimelineEventType, TimelineEvent['event_type']>> = {
  insert: 'insert',
  insertEncrypted: 'insert_encrypted',
  softDelete: 'soft_delete',
  delete: 'delete',
  updateMetadata: 'update_metadata',
  shredKey: 'shred_key',
  addNode: 'add_node',
  deleteNode: 'delete_node',
  addEdge: 'add_edge',
  deleteEdge: 'delete_edge',
};

export async function readTimeline(
  { caller, query, envelope }: HandlerRequest<undefined, TimelineQuery>,
  { backend }: Services,
): Promise<Reply> {
  const { from, to, limit = LIMIT, after = 0 } = query;
  const fromMs = from === undefined ? 0 : beginMs(from);
  const toMs = to === undefined ? Number.MAX_SAFE_INTEGER : endMs(to);
  const collection = await findCollection(backend, caller.project, query.collection);
  const page = await backend.call(collection, { op: 'timeline', fromMs, toMs, after, limit }, envelope);
  return json<TimelineResponse>({ events: page.events.map(shown), total: page.total });
}

/** The first millisecond that is not before the instant. Throws `validation_error`. */
function beginMs(text: string): number {
  if (WHOLE_SECONDS.test(text)) return Number(text) * SECOND_MS;
  return readInstant(text, 'from') + (BEYOND_MS.test(text) ? 1 : 0);
}

/** The last one that is not behind it: of whole seconds, as events show theirs, the end of that second. */
function endMs(text: string): number {
  if (WHOLE_SECONDS.test(text)) return Number(text) * SECOND_MS + SECOND_MS - 1;
  return readInstant(text, 'to');
}

function readInstant(text: string, parameter: 'from' | 'to'): number {
  if (isDateTime(text)) return instantMs(text, `query parameter ${parameter}`);
  throw invalid(
    `query parameter ${parameter}: expected an instant such as 2026-01-31T12:00:00Z, with its zone, or unix seconds`,
  );
}

const shown = ({ sequence, timeMs, type, recordId, nodeId, edgeId, keyId }: WrittenEvent): TimelineEvent => ({
  log_index: sequence,
  timestamp_unix: Math.floor(timeMs / SECOND_MS),
  timestamp_iso: new Date(timeMs).toISOString(),
  event_type: SHOWN_TYPE[type],
  ...(recordId === undefined ? {} : { record_id: recordId }),
  ...(nodeId === undefined ? {} : { node_id: nodeId }),
  ...(edgeId === undefined ? {} : { edge_id: edgeId }),
  ...(keyId === undefined ? {} : { key_id: keyId }),
});
