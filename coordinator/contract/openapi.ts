/** Builds the OpenAPI 3.1 document from the route table and the schemas of the validated types. */
import { ERRORS, type ErrorCode } from '../../shared/errors/errorTable.js';
import type { Scope } from '../../shared/registry/keys.js';
import { published, publishedSchemas } from './publishedSchemas.js';
import { type Schema, type SchemaName, schemas } from './schemas.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface RouteAnswer {
  readonly status: number;
  readonly description: string;
  /** A type of the contract, plain text, any JSON object, bytes, or no body at all. */
  readonly body: SchemaName | 'text' | 'json' | 'bytes' | null;
  /** Names of further headers, whose values are whole numbers. */
  readonly headers?: readonly string[];
}

export interface RouteDoc {
  readonly method: Method;
  readonly path: string;
  /** Null: no key. */
  readonly scope: Scope | null;
  readonly summary: string;
  readonly request: SchemaName | 'bytes' | null;
  readonly isRequestRequired: boolean;
  /** Whether request and answer may be msgpack too. */
  readonly isPackable: boolean;
  readonly query: SchemaName | null;
  /** Whether the route uses an `Idempotency-Key`. */
  readonly isIdempotent: boolean;
  /** All answers except errors. */
  readonly answers: readonly RouteAnswer[];
  /** All error codes of the route. */
  readonly errors: readonly ErrorCode[];
}

type Json = Readonly<Record<string, unknown>>;

const ref = (name: SchemaName | 'Hex32'): Json => ({ $ref: `#/components/schemas/${name}` });
const jsonContent = (name: SchemaName): Json => ({ 'application/json': { schema: ref(name) } });

/** Descriptions of bodies in msgpack, which has byte strings in place of arrays of numbers. */
const PACKED_REQUEST =
  'The body as msgpack. A vector may be a byte string: little-endian float32, or int32 in Q16.16 in a field whose name ends in `_q16` instead (`values_q16`, `query_q16`, `batch_q16`). Other arrays of bytes may be byte strings too.';
const PACKED_ANSWER =
  'The answer as msgpack, where `Accept` names it and the answer as JSON is shorter than 256 KiB. The vector of a hit is a byte string of little-endian float32.';

const packedContent = (name: SchemaName, description: string): Json => ({
  'application/msgpack': { schema: { ...ref(name), description } },
});

/** Groups of operations, with the first words of their paths. */
const TAGS: readonly (readonly [name: string, description: string, paths: RegExp])[] = [
  ['Collections', 'Collections, their indexes and their aliases.', /^\/v1\/(?:namespaces|index|aliases)/],
  ['Encrypted records', 'Records under keys that can be shredded.', /^\/v1\/(?:records\/encrypted|crypto)/],
  ['Records', 'Records: written, read, counted and deleted.', /^\/v1\/(?:records|vectors|facets|delete|soft-delete)/],
  ['Search', 'Searches of one collection and of several.', /^\/v1\/search/],
  ['Graph', 'Nodes and edges.', /^\/v1\/graph/],
  ['Proofs', 'Receipts, proofs, checkpoints and the events of a log.', /^\/v1\/(?:proof|timeline)/],
  ['Backup', 'Logs that are exported and imported.', /^\/v1\/(?:export|import)/],
  ['Keys', "The API keys of the caller's project.", /^\/v1\/keys/],
  ['Service', 'The service itself.', /^\//],
];

const tagOf = (path: string): string => TAGS.find(([, , paths]) => paths.test(path))![0];

const DESCRIPTION = `A vector collection service that can prove what it stored.

A path that is not listed here answers 404 \`not_found\`, and a method that a path does not list 405 \`method_not_allowed\`:
see \`NotFound\` and \`MethodNotAllowed\` among the responses. Request bodies are bounded in size (413); the operator sets
that bound, and those of texts, metadata and batches. A request may bring an \`x-request-id\` of 1 to 128 visible ASCII
characters, which its answer repeats.`;

const IDEMPOTENCY_PARAMETER: Json = {
  name: 'idempotency-key',
  in: 'header',
  required: false,
  description:
    'The `request_id` of a body that has none; of a batch, what the request ids of items without their own are derived from.',
  schema: ref('Hex32'),
};

/** Headers of answers; those of the rate limit are optional, since a project may have none. */
const header = (type: 'string' | 'integer', more: Json = {}): Json => ({ required: true, schema: { type, ...more } });
const REQUEST_ID: Json = { 'x-request-id': header('string') };
const RETRY_AFTER: Json = { 'retry-after': header('integer', { minimum: 1 }) };
const CHALLENGE: Json = { 'www-authenticate': header('string') };
const ALLOW: Json = { allow: header('string') };
const COUNT: Json = { schema: { type: 'integer', minimum: 0 } };
const RATE_LIMIT: Json = { 'ratelimit-limit': COUNT, 'ratelimit-remaining': COUNT, 'ratelimit-reset': COUNT };

/** Errors of checks before the rate limit. */
const UNLIMITED: readonly ErrorCode[] = ['unauthorized', 'forbidden', 'unsupported_media_type'];

export function openApi(routes: readonly RouteDoc[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Vouch',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that answers this document.' }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `vk_` and 64 hex digits.' },
      },
      schemas: publishedSchemas(),
      responses: { NotFound: failure(['not_found']), MethodNotAllowed: failure(['method_not_allowed']) },
    },
  };
}

function operation(route: RouteDoc): Json {
  const { method, path, scope, summary, request, isRequestRequired, isPackable, isIdempotent } = route;
  const limits = scope === null ? {} : RATE_LIMIT;
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^A-Za-z0-9]+(.)?/g, (_, next = '') => next.toUpperCase())}`,
    summary,
    tags: [tagOf(path)],
    ...(scope === null ? { security: [] } : { 'x-required-scope': scope }),
    parameters: [
      ...pathParameters(path),
      ...queryParameters(route.query),
      ...(isIdempotent ? [IDEMPOTENCY_PARAMETER] : []),
    ],
    ...(request === null
      ? {}
      : { requestBody: { required: isRequestRequired, content: requestContent(request, isPackable) } }),
    responses: { ...failures(route.errors, limits), ...successes(route.answers, limits, isPackable) },
  };
}

type Described = readonly [description: string, schema: Json];

const PATH_PARAMETERS: Readonly<Record<string, Described>> = {
  id: ['The id of the record, node or edge.', ref('Whole')],
  name: ['The name of the collection.', ref('CollectionName')],
  alias: ['The alias.', ref('CollectionName')],
  key_id: ['The id of the vault key.', ref('KeyId')],
};
const API_KEY_ID: Described = ['The id of the API key.', { type: 'string', pattern: '^[0-9a-f]{16}$' }];

const pathParameters = (path: string): Json[] =>
  [...path.matchAll(/{(\w+)}/g)].map(([, name]) => {
    const [description, schema] = path.startsWith('/v1/keys/') ? API_KEY_ID : PATH_PARAMETERS[name!]!;
    return { name, in: 'path', required: true, description, schema };
  });

function queryParameters(name: SchemaName | null): Json[] {
  if (name === null) return [];
  const { properties = {}, required = [] } = schemas[name] as Schema;
  return Object.entries(properties).map(([property, { description, ...schema }]) => ({
    name: property,
    in: 'query',
    required: required.includes(property),
    ...(description === undefined ? {} : { description }),
    schema: published(schema),
  }));
}

const requestContent = (request: SchemaName | 'bytes', isPackable: boolean): Json => ({
  ...contentOf(request),
  ...(isPackable && request !== 'bytes' ? packedContent(request, PACKED_REQUEST) : {}),
  // The metadata of a record: all of it, or a merge patch.
  ...(request === 'JsonObject' ? { 'application/merge-patch+json': { schema: ref(request) } } : {}),
});

const successes = (answers: readonly RouteAnswer[], limits: Json, isPackable: boolean): Json =>
  Object.fromEntries(
    answers.map(({ status, description, body, headers = [] }) => {
      const packed = isPackable ? packedContent(body as SchemaName, PACKED_ANSWER) : {};
      const content = body === null ? {} : { content: { ...contentOf(body), ...packed } };
      const own = Object.fromEntries(headers.map((name) => [name, header('integer', { minimum: 0 })]));
      const retry = status === ERRORS.unavailable.status ? RETRY_AFTER : {};
      return [status, { description, headers: { ...REQUEST_ID, ...retry, ...limits, ...own }, ...content }];
    }),
  );

function contentOf(body: NonNullable<RouteAnswer['body']>): Json {
  if (body === 'text') return { 'text/plain': { schema: { type: 'string' } } };
  if (body === 'bytes') return { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
  return body === 'json' ? { 'application/json': { schema: { type: 'object' } } } : jsonContent(body);
}

/** The error answers: for each status its codes. */
function failures(codes: readonly ErrorCode[], limits: Json): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries([...byStatus].map(([status, its]) => [status, failure(its, limits)]));
}

function failure(codes: readonly ErrorCode[], limits: Json = {}): Json {
  const headers = {
    ...REQUEST_ID,
    ...(codes.some((code) => code === 'rate_limited' || code === 'unavailable') ? RETRY_AFTER : {}),
    ...(codes.includes('unauthorized') ? CHALLENGE : {}),
    ...(codes.includes('method_not_allowed') ? ALLOW : {}),
    ...(codes.every((code) => UNLIMITED.includes(code)) ? {} : limits),
  };
  if (codes.includes('rate_limited'))
    return { description: 'The rate limit is exceeded.', headers, content: jsonContent('RateLimitedResponse') };
  const schema = {
    allOf: [ref('ErrorResponse'), { type: 'object', properties: { code: { type: 'string', enum: codes } } }],
  };
  return { description: codes.join(', '), headers, content: { 'application/json': { schema } } };
}
