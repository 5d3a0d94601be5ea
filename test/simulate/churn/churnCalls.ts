/** Calls to collections that come and go, and their outcomes. */
import { get, type HttpRequest, post } from '../../soak/clients/calls/call.js';
import type { Exchange } from '../../soak/clients/httpCall.js';

/** A call of a client. The metadata of each record has a unique number, the record's tag. */
export type ChurnWanted =
  | { readonly op: 'create'; readonly name: string }
  | { readonly op: 'delete'; readonly name: string }
  /** `keyId`: the vault key that the record is put under. */
  | { readonly op: 'insert'; readonly name: string; readonly tag: number; readonly keyId?: string }
  | { readonly op: 'search'; readonly name: string }
  /** Searches the state of an instant. */
  | { readonly op: 'searchPast'; readonly name: string; readonly asOf: string }
  | { readonly op: 'shred'; readonly keyId: string }
  /** Moves the project's alias to the collection `name`. */
  | { readonly op: 'move'; readonly name: string }
  | { readonly op: 'searchAlias' }
  | { readonly op: 'list' };

export interface Listed {
  readonly name: string;
  readonly id: number;
}

export type ChurnOutcome =
  | { readonly kind: 'created'; readonly id: number; readonly isNew: boolean }
  /** Outcome of a deletion, an insert or a shred. */
  | { readonly kind: 'done' }
  | { readonly kind: 'found'; readonly tags: readonly number[] }
  | { readonly kind: 'listed'; readonly collections: readonly Listed[] }
  /** The collection has the alias, so its deletion is refused. */
  | { readonly kind: 'aliased' }
  /** The insert names a key that is shredded. */
  | { readonly kind: 'erased' }
  /** The collection does not exist. */
  | { readonly kind: 'absent' }
  /** A limit of the project is reached: of collections, or of their content. The call had no effect. */
  | { readonly kind: 'full' }
  /** The call may have taken effect, or may do so later. */
  | { readonly kind: 'unknown'; readonly why: string }
  | { readonly kind: 'unexpected'; readonly why: string };

export interface ChurnCall {
  readonly wanted: ChurnWanted;
  /** Coordinator that was asked. */
  readonly via: string;
  /** Simulated milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: ChurnOutcome;
}

/** Begins the text of each record under a key. Only ciphertext of it is stored. */
export const ERASABLE_TEXT = 'the text of a record under a key';
const ALIAS = 'alias';
/** Name of collections that have an access log. */
const AUDITED = 'p2';
const VECTOR = [1, 2, 3, 4];
/** The `k` of searches: more than any collection has records. */
const ALL = 1_000;

export function requestOf(wanted: ChurnWanted): HttpRequest {
  switch (wanted.op) {
    case 'create':
      return post('/v1/namespaces', {
        ...{ name: wanted.name, dimension: VECTOR.length, metric: 'squared_l2' },
        ...(wanted.name === AUDITED && { audit_reads: true }),
      });
    case 'delete':
      return { method: 'DELETE', path: `/v1/namespaces/${wanted.name}` };
    case 'insert': {
      const metadata = [...Buffer.from(JSON.stringify({ tag: wanted.tag }))];
      const record = { collection: wanted.name, values: VECTOR, metadata };
      if (wanted.keyId === undefined) return post('/v1/records', record);
      return post('/v1/records', { ...record, key_id: wanted.keyId, text: `${ERASABLE_TEXT} ${wanted.tag}` });
    }
    case 'search':
    case 'searchPast':
    case 'searchAlias': {
      const collection = wanted.op === 'searchAlias' ? ALIAS : wanted.name;
      const past = wanted.op === 'searchPast' ? { as_of: wanted.asOf } : {};
      return post('/v1/search', { collection, query: VECTOR, k: ALL, with: ['metadata'], ...past });
    }
    case 'shred':
      return { method: 'DELETE', path: `/v1/crypto/shred/${wanted.keyId}` };
    case 'move':
      return { method: 'PUT', path: `/v1/aliases/${ALIAS}`, body: { collection: wanted.name } };
    case 'list':
      return get('/v1/namespaces');
  }
}

interface Body {
  readonly code?: string;
  readonly error?: string;
  readonly id?: number;
  readonly created?: boolean;
  readonly results?: readonly { readonly metadata: { readonly tag: number } }[];
  readonly collections?: readonly Listed[];
}

export function outcomeOf({ op }: ChurnWanted, exchange: Exchange): ChurnOutcome {
  if (exchange.status === undefined) return { kind: 'unknown', why: exchange.why };
  const { status } = exchange;
  const body = (exchange.body ?? {}) as Body;
  const refusal = `${status} ${body.code}: ${body.error}`;
  if (status === 503) return { kind: 'unknown', why: refusal };
  if (status === 404 && body.code === 'collection_not_found' && op !== 'create') return { kind: 'absent' };
  if (status === 400 && op === 'insert' && body.error?.includes('shredded')) return { kind: 'erased' };
  if (status === 409 && op === 'delete') return { kind: 'aliased' };
  if (status === 507 && body.code === 'capacity_exceeded') return { kind: 'full' };
  if (status === 200 && op === 'create') return { kind: 'created', id: body.id!, isNew: body.created! };
  if ((status === 204 && op === 'delete') || (status === 200 && (op === 'insert' || op === 'move' || op === 'shred')))
    return { kind: 'done' };
  if (status === 200 && (op === 'search' || op === 'searchPast' || op === 'searchAlias'))
    return { kind: 'found', tags: body.results!.map(({ metadata }) => metadata.tag) };
  if (status === 200 && op === 'list')
    return { kind: 'listed', collections: body.collections!.map(({ name, id }) => ({ name, id })) };
  return { kind: 'unexpected', why: refusal };
}

export const describeCall = ({ wanted, via, startMs, endMs, outcome }: ChurnCall): string =>
  `via ${via}, ${startMs.toFixed(1)}–${endMs.toFixed(1)} ms: ${JSON.stringify(wanted)} → ${JSON.stringify(outcome)}`;
