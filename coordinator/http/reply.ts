/** Answers, before they are written to a connection. */
import { STATUS_CODES } from 'node:http';
import { VouchError } from '../../shared/errors/errors.js';
import { pack } from '../../shared/protocol/wire.js';
import { PACKED_TYPE } from './mediaTypes.js';

export type Header = readonly [name: string, value: string];

export interface Reply {
  readonly status: number;
  /** Null: no body. */
  readonly contentType: string | null;
  readonly body: string | Uint8Array;
  readonly headers?: readonly Header[];
}

/** How long an idle connection may be used again. uWebSockets.js closes it after 8 s at the earliest. */
export const KEEP_ALIVE = 'timeout=7';

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([status, words]) => [Number(status), `${status} ${words}`]),
);

/** The status in the form that uWebSockets.js takes: `503 Service Unavailable`. */
export const statusLine = (status: number): string => STATUS_LINES.get(status) ?? String(status);

const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';

export const json = <T>(value: T, status = 200): Reply => ({
  status,
  contentType: JSON_TYPE,
  body: JSON.stringify(value),
});

/** A longer answer is encoded in pieces, and is never repacked as msgpack: that would take milliseconds. */
export const WHOLE_CHARS_MAX = 256 * 1024;

/** Repacks an answer as msgpack, with the vectors of hits as byte strings of little-endian float32. */
export function packedReply(reply: Reply): Reply {
  const { body, contentType } = reply;
  if (typeof body !== 'string' || contentType !== JSON_TYPE || body.length >= WHOLE_CHARS_MAX) return reply;
  const value = JSON.parse(body) as PackedAnswer;
  for (const { results } of [value, ...(value.answers ?? [])])
    for (const hit of results ?? [])
      if (hit.vector !== undefined) hit.vector = new Uint8Array(Float32Array.from(hit.vector).buffer);
  return { ...reply, contentType: PACKED_TYPE, body: pack(value) };
}

/** The part of an answer that may have vectors. */
interface PackedAnswer {
  readonly results?: { vector?: ArrayLike<number> }[];
  readonly answers?: PackedAnswer[];
}

/** An answer whose JSON text is already written: see `jsonWriter.ts`. */
export const jsonText = (body: Reply['body']): Reply => ({ status: 200, contentType: JSON_TYPE, body });

export const text = (body: string, contentType = 'text/plain; charset=utf-8'): Reply => ({
  status: 200,
  contentType,
  body,
});

export const bytesReply = (body: Uint8Array, headers: readonly Header[]): Reply => ({
  status: 200,
  contentType: BYTES_TYPE,
  body,
  headers,
});

/** Encodes the body once: a string would be encoded for every request that shares the answer. */
export const inBytes = (reply: Reply): Reply => ({ ...reply, body: Buffer.from(reply.body) });

export const noContent: Reply = { status: 204, contentType: null, body: '' };

/** Answers of this size are sent at once by the native parser, which then closes the connection within the request handler. */
const CORKED_BYTES = 16 * 1024;

/**
 * The answer to a request whose end is unknown. Its blanks make the connection close before the request handler returns.
 * Otherwise the native parser would read the following bytes as a request, or answer first.
 */
export function malformedReply(flaw: string): Reply {
  const reply = errorReply(new VouchError('validation_error', flaw));
  return { ...reply, body: (reply.body as string).padEnd(CORKED_BYTES) };
}

/** The answer of an error. By the contract the body of a 429 has no code. */
export function errorReply(error: VouchError, extra: readonly Header[] = []): Reply {
  const { code, message: text, retryAfterSecs } = error;
  const headers = [...extra];
  if (code === 'unauthorized') headers.push(['www-authenticate', 'Bearer']);
  if (retryAfterSecs !== undefined) headers.push(['retry-after', String(retryAfterSecs)]);
  const body = JSON.stringify(code === 'rate_limited' ? { error: text } : { error: text, code });
  return { status: error.status, contentType: JSON_TYPE, body, headers };
}
