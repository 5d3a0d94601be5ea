/** How each kind of call goes over HTTP, and what its answer is in the history. */
import { unreachable } from '../../../shared/errors.js';
import { verifyReceipt, type WriteReceipt } from '../../verifier/receipt.js';
import type { Call, Outcome, ReceiptClaim } from '../history.js';
import type { Exchange } from './httpCall.js';

/** A call before it is made. */
export type Wanted = Call extends infer C
  ? C extends Call
    ? Omit<C, 'client' | 'via' | 'startMs' | 'endMs' | 'outcome'>
    : never
  : never;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: object;
}

export function requestOf(wanted: Wanted): HttpRequest {
  const { collection } = wanted;
  switch (wanted.op) {
    case 'insert': {
      const { vector: values, metadata, requestId } = wanted.row;
      const bytes = [...Buffer.from(JSON.stringify(metadata))];
      return post('/v1/records', { collection, values, metadata: bytes, request_id: requestId });
    }
    case 'insertBatch': {
      const { rows } = wanted;
      return post('/v1/vectors/batch-insert', {
        collection,
        batch: rows.map(({ vector }) => vector),
        metadata: rows.map(({ metadata }) => metadata),
        request_ids: rows.map(({ requestId }) => requestId),
      });
    }
    case 'softDelete':
      return post('/v1/soft-delete', { collection, id: wanted.id });
    case 'delete':
      return post('/v1/delete', { collection, id: wanted.id });
    case 'updateMetadata':
      return {
        method: 'PATCH',
        path: `/v1/records/${wanted.id}/metadata?collection=${collection}`,
        body: wanted.metadata,
      };
    case 'get':
      return get(`/v1/records/${wanted.id}?collection=${collection}`);
    case 'search': {
      const { query, k, color, isEventual } = wanted;
      const filter = color === null ? {} : { metadata_filter: { color } };
      return post('/v1/search', {
        collection,
        query,
        k,
        ...filter,
        ...(isEventual ? { consistency: 'eventual' } : {}),
      });
    }
    case 'state':
      return get(`/v1/proof/state?collection=${collection}`);
    case 'timeline':
      return get(`/v1/timeline?collection=${collection}&after=${wanted.after}&limit=${wanted.limit}`);
    default:
      return unreachable(wanted);
  }
}

const post = (path: string, body: object): HttpRequest => ({ method: 'POST', path, body });
const get = (path: string): HttpRequest => ({ method: 'GET', path });

/** 503 leaves open what became of a write; any other status of 500 and more should not be. */
export function outcomeOf(wanted: Wanted, exchange: Exchange): Outcome<unknown> {
  if (exchange.status === undefined) return { kind: 'unknown', why: exchange.why };
  const { status, body } = exchange;
  const { code, error } = (body ?? {}) as { code?: string; error?: string };
  if (status === 200) return answered(wanted, body);
  if (status === 404 && code === 'record_not_found') return { kind: 'absent' };
  if (status === 503) return { kind: 'unknown', why: `503: ${error}` };
  return { kind: 'refused', why: `${status} ${code}: ${error}` };
}

function answered(wanted: Wanted, body: unknown): Outcome<unknown> {
  try {
    return { kind: 'ok', answer: answerIn(wanted, body as Body) };
  } catch (error) {
    return {
      kind: 'refused',
      why: `an answer that cannot be read (${(error as Error).message}): ${JSON.stringify(body)}`,
    };
  }
}

/** What is read of the answers' bodies. */
interface Body {
  readonly id: number;
  readonly ids: readonly number[];
  readonly deduplicated: boolean;
  readonly receipt: WriteReceipt;
  readonly log_index: number;
  readonly vector: readonly number[];
  readonly metadata: unknown;
  readonly results: readonly { readonly id: number; readonly score: number }[];
  readonly sequence: number;
  readonly final_state_hash: string;
  readonly state_root: string;
  readonly chain_head: string;
  readonly total: number;
  readonly events: readonly { readonly log_index: number; readonly event_type: string; readonly record_id: number }[];
}

function answerIn(wanted: Wanted, body: Body): object {
  switch (wanted.op) {
    case 'insert':
      return { id: body.id, deduplicated: body.deduplicated, receipt: claimOf(body.receipt) };
    case 'insertBatch':
      return { ids: body.ids };
    case 'softDelete':
    case 'delete':
    case 'updateMetadata':
      return { sequence: body.log_index };
    case 'get':
      return { vector: body.vector, metadata: body.metadata };
    case 'search': {
      const { results, sequence } = body;
      return { ids: results.map(({ id }) => id), scores: results.map(({ score }) => score), sequence };
    }
    case 'state': {
      const { sequence, final_state_hash: stateHash, state_root: stateRoot, chain_head: chainHead } = body;
      return { sequence, stateHash, stateRoot, chainHead };
    }
    case 'timeline': {
      const events = body.events.map((event) => ({
        sequence: event.log_index,
        type: event.event_type,
        recordId: event.record_id,
      }));
      return { total: body.total, events };
    }
    default:
      return unreachable(wanted);
  }
}

function claimOf(receipt: WriteReceipt): ReceiptClaim {
  const { record_id: recordId, sequence, old_root: oldRoot, new_root: newRoot, state_hash: stateHash } = receipt;
  return { recordId, sequence, oldRoot, newRoot, stateHash, problems: verifyReceipt(receipt) };
}
