/** The head of a request, copied out of the engine's request object, which lives for one call only. */
import type { EngineRequest } from './engine/engine.js';

export interface RequestHead {
  /** As sent: methods are case-sensitive. */
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly authorization: string;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** The first of repeated ones. */
  readonly accept: string;
  /** Undefined: the body is chunked. */
  readonly bodyBytes: number | undefined;
  /** Undefined: not sent. */
  readonly idempotencyKey: string | undefined;
  /** The client's own id, if it may be repeated in the answer. */
  readonly requestId: string | undefined;
  /** The page's, of a browser. */
  readonly origin: string | undefined;
  /** The method that a browser asks for before it sends the request. */
  readonly requestedMethod: string | undefined;
  /** The client asks to close the connection after the answer; the native parser does so. */
  readonly isLast: boolean;
  /** Why the end or the target of the request is unclear; such a request must have no effect. */
  readonly flaw: string | undefined;
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;
const CLOSE = /(?:^|[\s,])close(?:$|[\s,])/i;
const DIGITS = /^[0-9]{1,16}$/;

/** The headers that are read, by their names in lower case. */
const FIELDS = new Map([
  ['authorization', 'authorization'],
  ['content-type', 'contentType'],
  ['content-encoding', 'contentEncoding'],
  ['accept', 'accept'],
  ['content-length', 'contentLength'],
  ['transfer-encoding', 'transferEncoding'],
  ['host', 'host'],
  ['connection', 'connection'],
  ['idempotency-key', 'idempotencyKey'],
  ['x-request-id', 'requestId'],
  ['origin', 'origin'],
  ['access-control-request-method', 'requestedMethod'],
] as const);
type Field = typeof FIELDS extends ReadonlyMap<string, infer F> ? F : never;

/** The headers that must not be repeated. */
const SINGLE: Readonly<Partial<Record<Field, string>>> = {
  idempotencyKey: 'Idempotency-Key',
  contentLength: 'Content-Length',
  transferEncoding: 'Transfer-Encoding',
  host: 'Host',
};

/**
 * One pass over all headers, so that a repeated one is seen: 0.7 µs for 4 headers, 1.8 µs for 10. The first of repeated
 * headers counts, as for the native parser.
 */
export function readHead(req: EngineRequest): RequestHead {
  const headers: Partial<Record<Field, string>> = {};
  let repeated: string | undefined;
  req.forEach((name, value) => {
    const field = (FIELDS as ReadonlyMap<string, Field>).get(name);
    if (field === undefined) return;
    if (headers[field] === undefined) headers[field] = value;
    else repeated = SINGLE[field] ?? repeated;
  });
  const { contentLength, transferEncoding, connection, requestId } = headers;
  return {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    // Undefined without a question mark, in spite of its type.
    query: req.getQuery() ?? '',
    authorization: headers.authorization ?? '',
    contentType: headers.contentType ?? '',
    contentEncoding: headers.contentEncoding ?? '',
    accept: headers.accept ?? '',
    bodyBytes: transferEncoding === undefined ? Number(contentLength ?? 0) : undefined,
    idempotencyKey: headers.idempotencyKey,
    requestId: requestId !== undefined && VISIBLE_ASCII.test(requestId) ? requestId : undefined,
    origin: headers.origin,
    requestedMethod: headers.requestedMethod,
    isLast: connection !== undefined && CLOSE.test(connection),
    flaw: repeated === undefined ? framingFlaw(contentLength, transferEncoding) : `the header ${repeated} is repeated`,
  };
}

function framingFlaw(contentLength: string | undefined, transferEncoding: string | undefined): string | undefined {
  if (contentLength !== undefined && !(DIGITS.test(contentLength) && Number.isSafeInteger(Number(contentLength))))
    return 'Content-Length is not one whole number from 0 to 2^53 - 1';
  if (transferEncoding === undefined) return undefined;
  if (contentLength !== undefined) return 'both Content-Length and Transfer-Encoding are given';
  return transferEncoding.toLowerCase() === 'chunked' ? undefined : 'the only Transfer-Encoding taken is chunked';
}

const isUnencoded = ({ contentEncoding }: RequestHead): boolean =>
  contentEncoding === '' || contentEncoding.toLowerCase() === 'identity';

/** Whether the body is unencoded bytes; a missing type counts as that. */
export const isBytesBody = (head: RequestHead): boolean =>
  isUnencoded(head) && (head.contentType === '' || head.contentType.toLowerCase() === 'application/octet-stream');

/** Whether the body is unencoded JSON in UTF-8; a missing type counts as that. */
export function isJsonBody(head: RequestHead): boolean {
  const { contentType } = head;
  if (!isUnencoded(head)) return false;
  if (contentType === '' || contentType === 'application/json') return true;
  const [type, ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  return type!.trim() === 'application/json' && /^(?:charset="?(?:utf-8|utf8|us-ascii)"?)?$/.test(charset ?? '');
}

export const PACKED_TYPE = 'application/msgpack';

/** Whether the body is unencoded msgpack. */
export const isPackedBody = (head: RequestHead): boolean =>
  isUnencoded(head) && head.contentType.toLowerCase() === PACKED_TYPE;

/** Whether the client names msgpack among the types it takes. */
export const acceptsPacked = ({ accept }: RequestHead): boolean =>
  accept !== '' &&
  accept.split(',').some((range) => {
    const [type, ...parameters] = range.toLowerCase().split(';');
    return type!.trim() === PACKED_TYPE && !parameters.some((parameter) => /^\s*q=0(?:\.0*)?\s*$/.test(parameter));
  });
