/** What a route is: where it stands, who may use it, what it takes, and who answers it. */
import type { Config } from '../../config/config.js';
import type { Bucket } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import type { ErrorCode } from '../../shared/errors.js';
import type { Scope } from '../../shared/keys.js';
import type { Logger } from '../../shared/logger.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Caller } from '../auth/authenticate.js';
import type { Backend } from '../backend.js';
import { BODY_KINDS, type BodyKind, type Prepared } from '../body/kinds.js';
import type { Answer, Method, RouteDoc } from '../contract/openapi.js';
import type { SchemaName } from '../contract/schemas.js';
import type { Reply } from '../http/reply.js';
import type { Category } from '../limits/limiter.js';
import type { EdgeMetrics } from '../metrics.js';
import type { KeyAdministration } from './keys.js';

/** What handlers stand on. */
export interface Services {
  readonly backend: Backend;
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  readonly metrics: EdgeMetrics;
  readonly keys: KeyAdministration;
  /** The public keys that checkpoints are signed with; see `shared/signers.ts`. */
  readonly signers: Bucket;
  /** The document's JSON. */
  readonly openApi: string;
}

export interface HandlerRequest<Body = unknown, Query = unknown> {
  readonly caller: Caller;
  readonly body: Body;
  readonly query: Query;
  /** Of the path, decoded, in its order. */
  readonly parameters: readonly string[];
  /** The header's value; empty where there is none. */
  readonly idempotencyKey: string;
  readonly envelope: Envelope;
}

type Answered = Reply | Promise<Reply>;

interface Common extends RouteDoc {
  /** As logs and metrics call it. */
  readonly name: string;
}

/** Needs no key and is never limited. */
export interface OpenRoute extends Common {
  readonly scope: null;
  readonly body: null;
  readonly handle: (services: Services) => Answered;
}

export interface KeyedRoute extends Common {
  readonly scope: Scope;
  readonly category: Category;
  readonly body: BodyKind | null;
  /** Throws `validation_error`; null: query parameters are ignored. */
  readonly parseQuery: ((query: string) => unknown) | null;
  readonly handle: (request: HandlerRequest, services: Services) => Answered;
}

export type Route = OpenRoute | KeyedRoute;

/** Query parameters: their validator, and the type it validates. */
export interface QueryType<Q> {
  readonly schema: SchemaName;
  readonly parse: (query: string) => Q;
}

export const queryType = <Q>(schema: SchemaName, assert: (query: string) => Q): QueryType<Q> => ({
  schema,
  // typia reads what follows the question mark.
  parse: (query) => assert(`?${query}`),
});

interface Definition<K extends BodyKind, Q> {
  readonly method: Method;
  readonly path: string;
  readonly scope: Scope;
  /** Which bucket it draws from, beside the total. */
  readonly category: Category;
  readonly summary: string;
  readonly body?: K;
  readonly query?: QueryType<Q>;
  readonly answers: readonly Answer[];
  /** Beyond those that follow from the rest of the definition. */
  readonly errors?: readonly ErrorCode[];
  readonly handle: (request: HandlerRequest<Prepared<K>, Q>, services: Services) => Answered;
}

export function route<K extends BodyKind = never, Q = undefined>(definition: Definition<K, Q>): KeyedRoute {
  const { method, path, scope, category, summary, body, query, answers, errors = [], handle } = definition;
  return {
    name: `${method} ${path}`,
    method,
    path,
    scope,
    category,
    summary,
    body: body ?? null,
    request: body === undefined ? null : BODY_KINDS[body].schema,
    query: query?.schema ?? null,
    parseQuery: query?.parse ?? null,
    answers,
    errors: [...impliedErrors(definition), ...errors],
    // The server hands a handler what its definition names, and nothing else.
    handle: handle as KeyedRoute['handle'],
  };
}

export const openRoute = (
  path: string,
  summary: string,
  answers: readonly Answer[],
  handle: OpenRoute['handle'],
): OpenRoute => ({
  name: `GET ${path}`,
  method: 'GET',
  path,
  scope: null,
  summary,
  body: null,
  request: null,
  query: null,
  answers,
  errors: ['internal_error'],
  handle,
});

function impliedErrors<K extends BodyKind, Q>({ path, body, query }: Definition<K, Q>): ErrorCode[] {
  const always: ErrorCode[] = ['unauthorized', 'forbidden', 'rate_limited', 'internal_error', 'unavailable'];
  if (body !== undefined) always.push('payload_too_large', 'unsupported_media_type');
  if (body !== undefined || query !== undefined || path.includes('{')) always.push('validation_error');
  return always;
}
