/** What is answered, before it is written to a connection. */
import { ERROR_STATUS, type VouchError } from '../../shared/errors.js';

export type Header = readonly [name: string, value: string];

export interface Reply {
  readonly status: number;
  /** Null: no body. */
  readonly contentType: string | null;
  readonly body: string | Uint8Array;
  readonly headers?: readonly Header[];
}

const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';

export const json = <T>(value: T, status = 200): Reply => ({
  status,
  contentType: JSON_TYPE,
  body: JSON.stringify(value),
});

/** For answers whose JSON is put together by hand because they are large. */
export const jsonText = (body: string): Reply => ({ status: 200, contentType: JSON_TYPE, body });

export const text = (body: string, contentType = 'text/plain; charset=utf-8'): Reply => ({
  status: 200,
  contentType,
  body,
});

export const bytes = (body: Uint8Array, headers: readonly Header[]): Reply => ({
  status: 200,
  contentType: BYTES_TYPE,
  body,
  headers,
});

export const noContent: Reply = { status: 204, contentType: null, body: '' };

/** The body of a 429 has no code: the contract fixes it so. */
export function errorReply(error: VouchError, extra: readonly Header[] = []): Reply {
  const { code, message: text, retryAfterSecs } = error;
  const headers = [...extra];
  if (code === 'unauthorized') headers.push(['www-authenticate', 'Bearer']);
  if (retryAfterSecs !== undefined) headers.push(['retry-after', String(retryAfterSecs)]);
  const body = JSON.stringify(code === 'rate_limited' ? { error: text } : { error: text, code });
  return { status: ERROR_STATUS[code], contentType: JSON_TYPE, body, headers };
}
