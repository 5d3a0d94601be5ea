/** The OpenAPI 3.1 document: the route table told in the schemas of the types that validate. */
import { ERROR_STATUS, type ErrorCode } from '../../shared/errors.js';
import type { Scope } from '../../shared/keys.js';
import { type Schema, type SchemaName, schemas } from './schemas.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Answer {
  readonly status: number;
  readonly description: string;
  /** A type of the contract, plain text, any JSON object, bytes, or no body at all. */
  readonly body: SchemaName | 'text' | 'json' | 'bytes' | null;
}

export interface RouteDoc {
  readonly method: Method;
  readonly path: string;
  /** Null: no key. */
  readonly scope: Scope | null;
  readonly summary: string;
  readonly request: SchemaName | 'bytes' | null;
  readonly query: SchemaName | null;
  /** What is answered but for errors. */
  readonly answers: readonly Answer[];
  /** Every code the route can give. */
  readonly errors: readonly ErrorCode[];
}

type Json = Readonly<Record<string, unknown>>;

const ref = (name: SchemaName): Json => ({ $ref: `#/components/schemas/${name}` });
const jsonContent = (name: SchemaName): Json => ({ 'application/json': { schema: ref(name) } });

export function openApi(routes: readonly RouteDoc[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Vouch', version, description: 'A vector collection service that can prove what it stored.' },
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } },
      schemas,
    },
  };
}

function operation(route: RouteDoc): Json {
  const { method, path, scope, summary, request } = route;
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^A-Za-z0-9]+(.)?/g, (_, next = '') => next.toUpperCase())}`,
    summary,
    ...(scope === null ? { security: [] } : { 'x-required-scope': scope }),
    parameters: [...pathParameters(path), ...queryParameters(route.query)],
    ...(request === null ? {} : { requestBody: { required: true, content: contentOf(request) } }),
    responses: { ...failures(route.errors), ...successes(route.answers) },
  };
}

const pathParameters = (path: string): Json[] =>
  [...path.matchAll(/{(\w+)}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: name === 'id' && !path.startsWith('/v1/keys') ? { type: 'integer', minimum: 0 } : { type: 'string' },
  }));

function queryParameters(name: SchemaName | null): Json[] {
  if (name === null) return [];
  const { properties = {}, required = [] } = schemas[name] as Schema;
  return Object.entries(properties).map(([property, { description, ...schema }]) => ({
    name: property,
    in: 'query',
    required: required.includes(property),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

const requestIdHeader: Json = { 'x-request-id': { schema: { type: 'string' } } };

const successes = (answers: readonly Answer[]): Json =>
  Object.fromEntries(
    answers.map(({ status, description, body }) => {
      const content = body === null ? {} : { content: contentOf(body) };
      return [status, { description, headers: requestIdHeader, ...content }];
    }),
  );

function contentOf(body: NonNullable<Answer['body']>): Json {
  if (body === 'text') return { 'text/plain': { schema: { type: 'string' } } };
  if (body === 'bytes') return { 'application/octet-stream': {} };
  return body === 'json' ? { 'application/json': { schema: { type: 'object' } } } : jsonContent(body);
}

/** By status, each with the codes that it may carry. */
function failures(codes: readonly ErrorCode[]): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) byStatus.set(ERROR_STATUS[code], [...(byStatus.get(ERROR_STATUS[code]) ?? []), code]);
  return Object.fromEntries([...byStatus].map(([status, its]) => [status, failure(its)]));
}

function failure(codes: readonly ErrorCode[]): Json {
  const retryAfter = { 'retry-after': { schema: { type: 'integer', minimum: 1 } } };
  if (codes.includes('rate_limited'))
    return {
      description: 'The rate limit is exceeded.',
      headers: { ...requestIdHeader, ...retryAfter },
      content: jsonContent('RateLimitedResponse'),
    };
  const schema = {
    allOf: [ref('ErrorResponse'), { type: 'object', properties: { code: { type: 'string', enum: codes } } }],
  };
  return {
    description: codes.join(', '),
    headers: codes.includes('unavailable') ? { ...requestIdHeader, ...retryAfter } : requestIdHeader,
    content: { 'application/json': { schema } },
  };
}
