/** A route: its method and path, who may use it, what it takes, and its handler. */
import type { ErrorCode } from '../../shared/errors/errors.js';
import type { Scope } from '../../shared/registry/keys.js';
import { BODY_KINDS, type BodyKind, mayBeEmpty, mayBePacked, type Prepared } from '../body/kinds.js';
import { namesOf } from '../contract/knownFields.js';
import type { Method, RouteAnswer, RouteDoc } from '../contract/openapi.js';
import { queryReader } from '../contract/query.js';
import { assertCollectionQuery } from '../contract/records.js';
import type { SchemaName } from '../contract/schemas.js';
import type { Category } from '../limits/limiter.js';
import { COLLECTION_ERRORS, type HandlerRequest, type Services } from './handlerRequest.js';
import type { Reply } from './reply.js';

type RouteName = `${Method} /${string}`;

type Deadline = 'deadlineMs' | 'rebuildMs';

interface CommonRoute extends RouteDoc {
  /** Method and path, for logs and metrics. */
  readonly name: string;
  /** Throws `validation_error`. */
  readonly parseQuery: (query: string) => unknown;
}

/** A route about the service, not a project. It is never limited, even under overload: the answer is shared and cheap. */
export interface ServiceRoute extends CommonRoute {
  readonly category: null;
  readonly body: null;
  /** `parameters`: of the path, still encoded. */
  readonly handle: (services: Services, parameters: readonly string[]) => Reply | Promise<Reply>;
}

export interface KeyedRoute extends CommonRoute {
  readonly scope: Scope;
  /** The rate limit that counts it, besides the total. */
  readonly category: Category;
  readonly body: BodyKind | null;
  /** The limit that sets its deadline, counted from the arrival of its body. */
  readonly deadline: Deadline;
  /** Whether it concerns the whole project: a key that is limited to collections may not use it. */
  readonly isOfProject: boolean;
  /** Whether its answer has facts about records, although it writes: an access log has an entry for it. */
  readonly alsoReads: boolean;
  /** The names of the fields of its body. */
  readonly bodyFields: readonly string[];
  readonly handle: (request: HandlerRequest) => Promise<Reply>;
}

export type Route = ServiceRoute | KeyedRoute;

/** The type of a route's query parameters, with its reader. One parameter names a collection. */
export interface QueryType<Q> {
  readonly schema: SchemaName;
  readonly parse: (query: string) => Q;
}

export function queryType<Q>(schema: SchemaName, assert: (parameters: unknown) => Q): QueryType<Q> {
  const read = queryReader(schema);
  return { schema, parse: (query) => assert(read(query)) };
}

/** The query of a route that takes only `collection`. */
export const inCollection = queryType('CollectionQuery', assertCollectionQuery);

interface Definition<K extends BodyKind, Q> {
  readonly summary: string;
  readonly body?: K;
  /** Whether the route uses an `Idempotency-Key`. */
  readonly isIdempotent?: true;
  readonly query?: QueryType<Q>;
  readonly isOfProject?: true;
  readonly alsoReads?: true;
  /** The default is `deadlineMs`. */
  readonly deadline?: Deadline;
  /** A single type means status 200 with a body of this type. */
  readonly answers: NonNullable<RouteAnswer['body']> | readonly RouteAnswer[];
  /** Errors beyond those that follow from the rest of the definition. */
  readonly errors?: readonly ErrorCode[];
  readonly handle: (request: HandlerRequest<Prepared<K>, Q>) => Promise<Reply>;
}

const ERRORS_WITH_KEY: readonly ErrorCode[] = [
  ...(['unauthorized', 'forbidden', 'rate_limited', 'internal_error', 'unavailable'] as const),
];
const OPEN_ERRORS: readonly ErrorCode[] = ['internal_error', 'unavailable'];
const BODY_ERRORS: readonly ErrorCode[] = ['payload_too_large', 'unsupported_media_type'];

const routeOf =
  (scope: Scope, category: Category) =>
  <K extends BodyKind = never, Q = undefined>(name: RouteName, definition: Definition<K, Q>): KeyedRoute => {
    const { summary, body, query, answers, errors = [], isIdempotent = false, handle } = definition;
    const { deadline = 'deadlineMs', isOfProject = false, alsoReads = false } = definition;
    const [method, path] = name.split(' ') as [Method, string];
    const request = body === undefined ? null : BODY_KINDS[body].schema;
    return {
      ...{ name, method, path, scope, category, summary, isIdempotent, request, deadline, isOfProject, alsoReads },
      body: body ?? null,
      bodyFields: request === null || request === 'bytes' ? [] : namesOf(request),
      isRequestRequired: body !== undefined && !mayBeEmpty(body),
      isPackable: body !== undefined && mayBePacked(body),
      query: query?.schema ?? null,
      parseQuery: query?.parse ?? queryReader(null, request),
      answers: typeof answers === 'string' ? success(answers) : answers,
      errors: [
        ...ERRORS_WITH_KEY,
        'validation_error',
        ...(body === undefined ? [] : BODY_ERRORS),
        ...(query === undefined ? [] : COLLECTION_ERRORS),
        ...errors,
      ],
      // The server passes the body and the query that the definition names.
      handle: handle as KeyedRoute['handle'],
    };
  };

export const readRoute = routeOf('read_only', 'read');
export const writeRoute = routeOf('read_write', 'write');
export const adminReadRoute = routeOf('admin', 'read');
export const adminWriteRoute = routeOf('admin', 'write');

/** `scope` null: the route needs no key. */
export const serviceRoute = (
  definition: Pick<ServiceRoute, 'path' | 'scope' | 'summary' | 'answers' | 'handle'>,
): ServiceRoute => ({
  ...definition,
  ...{ name: `GET ${definition.path}`, method: 'GET', category: null, body: null, request: null, query: null },
  ...{ isIdempotent: false, isRequestRequired: false, isPackable: false },
  parseQuery: queryReader(null),
  errors: ['validation_error', ...(definition.scope === null ? OPEN_ERRORS : ERRORS_WITH_KEY)],
});

/** A route of files, which the API does not include: proxies and browsers may add parameters. */
export const withAnyQuery = (route: ServiceRoute): ServiceRoute => ({ ...route, parseQuery: () => undefined });

export const success = (body: NonNullable<RouteAnswer['body']>): RouteAnswer[] => [
  { status: 200, description: 'Success.', body },
];
export const NO_CONTENT: readonly RouteAnswer[] = [{ status: 204, description: 'Done.', body: null }];
