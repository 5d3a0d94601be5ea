/** A request up to its body, copied out of uWebSockets.js, whose request object lives for one call only. */
import type { HttpRequest } from 'uWebSockets.js';

export interface RequestHead {
  /** As sent: methods are case-sensitive. */
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly authorization: string;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** Undefined: chunked, so not known yet. */
  readonly bodyBytes: number | undefined;
  readonly idempotencyKey: string;
  /** The client's own, where it is fit to be repeated. */
  readonly requestId: string | undefined;
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;

/** The client's own, where it is fit to be repeated. */
export function requestIdOf(req: HttpRequest): string | undefined {
  const requestId = req.getHeader('x-request-id');
  return requestId !== '' && VISIBLE_ASCII.test(requestId) ? requestId : undefined;
}

/** The parser has seen to it that at most one of the two length headers is there, and that it is well formed. */
export function readHead(req: HttpRequest): RequestHead {
  const contentLength = req.getHeader('content-length');
  return {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query: req.getQuery(),
    authorization: req.getHeader('authorization'),
    contentType: req.getHeader('content-type'),
    contentEncoding: req.getHeader('content-encoding'),
    bodyBytes: contentLength === '' ? undefinedIf(req.getHeader('transfer-encoding') !== '') : Number(contentLength),
    idempotencyKey: req.getHeader('idempotency-key'),
    requestId: requestIdOf(req),
  };
}

const undefinedIf = (chunked: boolean): number | undefined => (chunked ? undefined : 0);

const isAsItIs = ({ contentEncoding }: RequestHead): boolean =>
  contentEncoding === '' || contentEncoding.toLowerCase() === 'identity';

/** Bytes, as they are; a missing type is read as that. */
export const isBytesBody = (head: RequestHead): boolean =>
  isAsItIs(head) && (head.contentType === '' || head.contentType.toLowerCase() === 'application/octet-stream');

/** JSON in UTF-8, as it is; a missing type is read as that. */
export function isJsonBody(head: RequestHead): boolean {
  const { contentType } = head;
  if (!isAsItIs(head)) return false;
  if (contentType === '' || contentType === 'application/json') return true;
  const [type, ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  return type!.trim() === 'application/json' && /^(?:charset="?(?:utf-8|utf8|us-ascii)"?)?$/.test(charset ?? '');
}
