/** The endpoints of proofs and of the timeline, all read-only. */
import { refusal, unavailable } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { EVENT_VERSION } from '../../shared/log/eventLayout.js';
import { namedActor } from '../../shared/model/actor.js';
import { type AccessSettings, namedReadAudit } from '../../shared/model/readAudit.js';
import type { SignedText } from '../../shared/protocol/erasures.js';
import type {
  TimelineEvent as LogEvent,
  LogHead,
  ProofResults,
  TimelineEventType,
} from '../../shared/protocol/proofs.js';
import { listSigners } from '../../shared/registry/signers.js';
import { instantMs } from '../body/instant.js';
import type { Collection } from '../cluster/catalog/collection.js';
import {
  assertCheckpointQuery,
  assertConsistencyQuery,
  assertInclusionQuery,
  assertReceiptQuery,
  assertTimelineQuery,
  type CheckpointResponse,
  type ConsistencyResponse,
  type EventLogProofResponse,
  type InclusionResponse,
  type LogAt,
  type SigningKeysResponse,
  type StateProofResponse,
  type TimelineEvent,
  type TimelineResponse,
} from '../contract/proofs.js';
import type { HandlerRequest } from '../http/handlerRequest.js';
import { json } from '../http/reply.js';
import { inCollection, queryType, type Route, readRoute } from '../http/route.js';
import { checkpointText, publicKeyIn, signatureIn } from '../serviceLog/entry.js';

/** Digits of a public key that distinguish it at a glance. */
const KEY_ID_DIGITS = 16;
const TIMELINE_LIMIT = 100;
/** Up to the year 5138. */
const WHOLE_SECONDS = /^\d{1,11}$/;
const SECOND_MS = 1_000;
/** Digits after the milliseconds, at least one of them not 0. */
const BEYOND_MS = /\.\d{3}\d*[1-9]/;

export const PROOF_ROUTES: readonly Route[] = [
  readRoute('GET /v1/proof/state', {
    summary: "Roots and hashes of a collection's state",
    query: inCollection,
    answers: 'StateProofResponse',
    handle: async (request) => {
      const state = await request.callNamed(request.query.collection, { op: 'proofState' });
      return json<StateProofResponse>({
        final_state_hash: toHex(state.stateHash),
        state_root: toHex(state.stateRoot),
        chain_head: toHex(state.chainHead),
        sequence: state.log.sequence,
      });
    },
  }),
  readRoute('GET /v1/proof/event-log', {
    summary: "Hashes of a collection's log",
    query: inCollection,
    answers: 'EventLogProofResponse',
    handle: async (request) => {
      const { stateHash, log } = await request.callNamed(request.query.collection, { op: 'proofState' });
      return json<EventLogProofResponse>({
        event_log_hash: toHex(log.root),
        event_count: log.sequence,
        committed_height: log.sequence,
        final_state_hash: toHex(stateHash),
        kernel_version: EVENT_VERSION,
      });
    },
  }),
  readRoute('GET /v1/proof/receipt', {
    summary: 'The receipt of any past write of a record',
    query: queryType('ReceiptQuery', assertReceiptQuery),
    answers: 'PastReceipt',
    handle: async (request) => {
      const { collection, sequence } = request.query;
      return json(await request.callNamed(collection, { op: 'proofReceipt', sequence }));
    },
  }),
  readRoute('GET /v1/proof/inclusion', {
    summary: 'Proof that an event is in the log',
    query: queryType('InclusionQuery', assertInclusionQuery),
    answers: 'InclusionResponse',
    handle: async (request) => {
      const { collection, sequence, size = null } = request.query;
      return json(inclusionOf(await request.callNamed(collection, { op: 'proofInclusion', sequence, size })));
    },
  }),
  readRoute('GET /v1/proof/consistency', {
    summary: 'Proof that a later log extends an earlier one',
    query: queryType('ConsistencyQuery', assertConsistencyQuery),
    answers: 'ConsistencyResponse',
    handle: async (request) => {
      const { collection, from, to } = request.query;
      const result = await request.callNamed(collection, { op: 'proofConsistency', from, to });
      return json<ConsistencyResponse>({
        from: logAt(result.from),
        to: logAt(result.to),
        proof: base64url(result.proof),
      });
    },
  }),
  readRoute('GET /v1/proof/checkpoint', {
    summary: 'The present log and state, signed',
    query: queryType('CheckpointQuery', assertCheckpointQuery),
    answers: 'CheckpointResponse',
    handle: async (request) => {
      const collection = await request.find(request.query.collection);
      if (request.query.logged === 'true') return json(await loggedCheckpoint(request, collection));
      return json(checkpointAnswer(await request.call(collection, { op: 'checkpoint' })));
    },
  }),
  // The keys belong to the service, not to a project.
  readRoute('GET /v1/proof/keys', {
    summary: 'The public keys that checkpoints are signed with',
    answers: 'SigningKeysResponse',
    handle: async ({ services }) => {
      const keys = await listSigners(services.signers);
      return json<SigningKeysResponse>({
        keys: keys.map((key) => ({ ...signingKeyOf(key.publicKey), since: Math.floor(key.sinceMs / SECOND_MS) })),
      });
    },
  }),
  readRoute('GET /v1/timeline', {
    summary: "A collection's events in order",
    query: queryType('TimelineQuery', assertTimelineQuery),
    answers: 'TimelineResponse',
    handle: async (request) => {
      const { collection, from, to, limit = TIMELINE_LIMIT, after = 0, actor } = request.query;
      const call = {
        op: 'timeline',
        ...spanOf(from, to),
        after,
        limit,
        ...(actor !== undefined && { actor }),
      } as const;
      const { events, total, next } = await request.callNamed(collection, call);
      return request.longJson<TimelineResponse>({
        events: events.map(timelineEvent),
        total,
        ...(next !== undefined && { next }),
      });
    },
  }),
];

export const checkpointAnswer = ({ text, signature, publicKey }: SignedText): CheckpointResponse => ({
  checkpoint: text,
  signature: toHex(signature),
  ...signingKeyOf(toHex(publicKey)),
});

/** The newest checkpoint of the collection in the service log; newer changes are logged first. */
export async function loggedCheckpoint(request: HandlerRequest, collection: Collection): Promise<CheckpointResponse> {
  const { serviceLog } = request.services;
  const { log } = await request.call(collection, { op: 'proofState' });
  if (log.size === 0) throw refusal('conflict', 'notLogged');
  await request.wait(serviceLog.untilLogged(collection.id, log.size, request.envelope));
  const proved = await serviceLog.proveNewest(collection.id);
  if (proved === undefined)
    throw unavailable(
      'the collection is not in a checkpoint of the service log that its witnesses have cosigned; retry shortly',
    );
  const { entry, proof } = proved;
  return {
    checkpoint: checkpointText(entry, collection),
    signature: signatureIn(entry),
    ...signingKeyOf(publicKeyIn(entry)),
    service_log: { entry: base64url(entry), proof },
  };
}

export const inclusionOf = ({ sequence, log, proof }: ProofResults['proofInclusion']): InclusionResponse => ({
  sequence,
  size: log.size,
  root: toHex(log.root),
  proof: base64url(proof),
});

export const base64url = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');

const logAt = ({ sequence, size, root }: LogHead): LogAt => ({ sequence, size, root: toHex(root) });

const signingKeyOf = (publicKey: string): { public_key: string; key_id: string } => ({
  public_key: publicKey,
  key_id: publicKey.slice(0, KEY_ID_DIGITS),
});

/** The instants that `from` and `to` of a query name, both inclusive. Throws `validation_error`. */
export const spanOf = (from: string | undefined, to: string | undefined): { fromMs: number; toMs: number } => ({
  fromMs: from === undefined ? 0 : firstMs(from),
  toMs: to === undefined ? Number.MAX_SAFE_INTEGER : lastMs(to),
});

/** The first millisecond at or after the instant. Throws `validation_error`. */
function firstMs(text: string): number {
  if (WHOLE_SECONDS.test(text)) return Number(text) * SECOND_MS;
  return instantMs(text, 'query parameter from') + (BEYOND_MS.test(text) ? 1 : 0);
}

/** The last millisecond at or before the instant; of whole seconds the end of that second. Throws `validation_error`. */
function lastMs(text: string): number {
  if (WHOLE_SECONDS.test(text)) return Number(text) * SECOND_MS + SECOND_MS - 1;
  return instantMs(text, 'query parameter to');
}

export const EVENT_TYPES = {
  insert: 'insert',
  replace: 'replace',
  insertEncrypted: 'insert_encrypted',
  insertUnderKey: 'insert_under_key',
  replaceUnderKey: 'replace_under_key',
  updateUnderKey: 'update_under_key',
  softDelete: 'soft_delete',
  delete: 'delete',
  deleteMany: 'delete_many',
  updateMetadata: 'update_metadata',
  shredKey: 'shred_key',
  addNode: 'add_node',
  deleteNode: 'delete_node',
  addEdge: 'add_edge',
  deleteEdge: 'delete_edge',
  auditReads: 'audit_reads',
} as const satisfies Readonly<Record<TimelineEventType, TimelineEvent['event_type']>>;

const timelineEvent = ({
  sequence,
  timeMs,
  type,
  actor,
  recordId,
  nodeId,
  edgeId,
  keyId,
  access,
}: LogEvent): TimelineEvent => ({
  log_index: sequence,
  shard_id: 0,
  timestamp_unix: Math.floor(timeMs / SECOND_MS),
  timestamp_iso: new Date(timeMs).toISOString(),
  event_type: EVENT_TYPES[type],
  ...(actor === null ? {} : { actor: namedActor(actor) }),
  ...(recordId === undefined ? {} : { record_id: recordId }),
  ...(nodeId === undefined ? {} : { node_id: nodeId }),
  ...(edgeId === undefined ? {} : { edge_id: edgeId }),
  ...(keyId === undefined ? {} : { key_id: keyId }),
  ...(access === undefined ? {} : accessOf(access)),
});

const accessOf = ({ audit, retentionDays }: AccessSettings) => ({
  audit_reads: namedReadAudit(audit) ?? false,
  access_retention_days: retentionDays || null,
});
