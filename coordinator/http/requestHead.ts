/** The head of a request, copied from the engine's request object, which lives for one call only. */
import { ACTOR_TEXT_MAX, isVisibleAscii } from '../../shared/model/actor.js';
import type { EngineRequest } from './engine/engine.js';

export interface RequestHead {
  /** Unchanged: methods are case-sensitive. */
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly authorization: string;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** The first header, if it is repeated. */
  readonly accept: string;
  /** The codings of answers that the client accepts. */
  readonly acceptEncoding: string;
  /** The value of `Expect` if the client waits for `100 Continue`. */
  readonly expectation: string | undefined;
  /** Undefined: the body is chunked. */
  readonly bodyBytes: number | undefined;
  /** Undefined if it is absent. */
  readonly idempotencyKey: string | undefined;
  /** The client's own id, if it may be repeated in the answer. */
  readonly requestId: string | undefined;
  /** The value of `Vouch-On-Behalf-Of`, unchecked; undefined if it is absent. */
  readonly onBehalfOf: string | undefined;
  /** The origin of the browser's page. */
  readonly origin: string | undefined;
  /** The method that a browser's preflight request asks for. */
  readonly requestedMethod: string | undefined;
  /** Whether the client asks to close the connection after the answer; the native parser does so. */
  readonly isLast: boolean;
  /** The reason if the end, the target or a header of the request has no certain meaning. Such a request must have no effect. */
  readonly flaw: string | undefined;
}

const ASCII = /^[\x20-\x7e\t]*$/;
const CLOSE = /(?:^|[\s,])close(?:$|[\s,])/i;
/** The pattern that Node's own server uses. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;
const DIGITS = /^[0-9]{1,16}$/;

/** The headers that are read, by their names in lower case. */
const FIELDS = new Map([
  ['authorization', 'authorization'],
  ['content-type', 'contentType'],
  ['content-encoding', 'contentEncoding'],
  ['accept', 'accept'],
  ['accept-encoding', 'acceptEncoding'],
  ['expect', 'expect'],
  ['content-length', 'contentLength'],
  ['transfer-encoding', 'transferEncoding'],
  ['host', 'host'],
  ['connection', 'connection'],
  ['idempotency-key', 'idempotencyKey'],
  ['x-request-id', 'requestId'],
  ['vouch-on-behalf-of', 'onBehalfOf'],
  ['origin', 'origin'],
  ['access-control-request-method', 'requestedMethod'],
] as const);
type Field = typeof FIELDS extends ReadonlyMap<string, infer F> ? F : never;

/** The headers that must not be repeated. */
const SINGLE: Readonly<Partial<Record<Field, string>>> = {
  authorization: 'Authorization',
  contentType: 'Content-Type',
  contentEncoding: 'Content-Encoding',
  idempotencyKey: 'Idempotency-Key',
  onBehalfOf: 'Vouch-On-Behalf-Of',
  contentLength: 'Content-Length',
  transferEncoding: 'Transfer-Encoding',
  host: 'Host',
};

/**
 * Reads all headers in one pass, so that repeated ones are seen: 0.7 µs for 4 headers, 1.8 µs for 10. The first of repeated
 * headers counts, as for the native parser.
 */
export function readHead(req: EngineRequest): RequestHead {
  const headers: Partial<Record<Field, string>> = {};
  let repeated: string | undefined;
  let foreign: string | undefined;
  req.forEach((name, value) => {
    const field = (FIELDS as ReadonlyMap<string, Field>).get(name);
    if (field === undefined) return;
    if (headers[field] === undefined) headers[field] = value;
    else repeated = SINGLE[field] ?? repeated;
    if (!ASCII.test(value) && field !== 'requestId') foreign = name;
  });
  const { contentLength, transferEncoding, connection, requestId, expect } = headers;
  return {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    // Undefined without a question mark, in spite of its type.
    query: req.getQuery() ?? '',
    authorization: headers.authorization ?? '',
    contentType: headers.contentType ?? '',
    contentEncoding: headers.contentEncoding ?? '',
    accept: headers.accept ?? '',
    acceptEncoding: headers.acceptEncoding ?? '',
    expectation: expect !== undefined && CONTINUE.test(expect) ? expect : undefined,
    bodyBytes: transferEncoding === undefined ? Number(contentLength ?? 0) : undefined,
    idempotencyKey: headers.idempotencyKey,
    requestId: requestId !== undefined && isVisibleAscii(requestId, ACTOR_TEXT_MAX) ? requestId : undefined,
    onBehalfOf: headers.onBehalfOf,
    origin: headers.origin,
    requestedMethod: headers.requestedMethod,
    isLast: connection !== undefined && CLOSE.test(connection),
    flaw: headerFlaw(repeated, foreign) ?? framingFlaw(contentLength, transferEncoding),
  };
}

function headerFlaw(repeated: string | undefined, foreign: string | undefined): string | undefined {
  if (repeated !== undefined) return `the header ${repeated} is repeated`;
  return foreign === undefined ? undefined : `the header ${foreign} has bytes that are not ASCII`;
}

function framingFlaw(contentLength: string | undefined, transferEncoding: string | undefined): string | undefined {
  if (contentLength !== undefined && !(DIGITS.test(contentLength) && Number.isSafeInteger(Number(contentLength))))
    return 'Content-Length is not one whole number from 0 to 2^53 - 1';
  if (transferEncoding === undefined) return undefined;
  if (contentLength !== undefined) return 'both Content-Length and Transfer-Encoding are given';
  return transferEncoding.toLowerCase() === 'chunked' ? undefined : 'the only Transfer-Encoding taken is chunked';
}
