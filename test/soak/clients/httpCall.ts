/** One HTTP exchange of a soak's client: an answer, or the reason for its absence. */
import { type Agent, request } from 'node:http';
import { systemClock } from '../../../shared/clock.js';
import type { AskedReads } from '../access/askedReads.js';

export type Exchange =
  | { readonly status: number; readonly body: unknown }
  /** The connection broke, or the client gave up. */
  | { readonly status: undefined; readonly why: string };

export interface Asking {
  readonly method: string;
  /** Full URL. */
  readonly url: string;
  readonly key: string;
  readonly body?: object | undefined;
  /** Content type of the body; undefined: JSON, or bytes. */
  readonly type?: string | undefined;
  readonly idempotencyKey?: string | null | undefined;
  /** Sent as `x-request-id`. */
  readonly requestId?: string;
  /** Milliseconds after which the client gives up. */
  readonly patienceMs: number;
  readonly agent: Agent;
}

const BINARY = 'application/octet-stream';

/** Makes an exchange; never throws. */
export type MakeExchange = (asking: Asking) => Promise<Exchange>;

/** `reads` receives each request that reads, and its answer. */
export const exchangeWith =
  (reads?: AskedReads): MakeExchange =>
  (asking) =>
    send(asking, reads);

export const exchange: MakeExchange = exchangeWith();

function send(asking: Asking, reads: AskedReads | undefined): Promise<Exchange> {
  const { method, url, key, idempotencyKey, requestId, patienceMs, agent } = asking;
  const body = bytesOf(asking.body);
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': asking.type ?? (Buffer.isBuffer(asking.body) ? BINARY : 'application/json'),
    ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
    ...(requestId && { 'x-request-id': requestId }),
  };
  const { pathname: path, search } = new URL(url);
  const read = { method, path, query: search === '' ? undefined : search.slice(1), body };
  const onAnswer = requestId === undefined ? undefined : reads?.sent(requestId, read, systemClock.monotonicMs());
  return new Promise((resolve) => {
    const none = (why: string): void => {
      clearTimeout(impatience);
      resolve({ status: undefined, why });
    };
    const sent = request(url, { method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', (error) => none(error.message));
      response.once('aborted', () => none('the answer broke off'));
      response.once('end', () => {
        if (!response.complete) return none('the answer broke off');
        clearTimeout(impatience);
        const bytes = Buffer.concat(chunks);
        onAnswer?.(response.statusCode ?? 0, bytes);
        resolve({ status: response.statusCode ?? 0, body: parsed(bytes, response.headers['content-type']) });
      });
    });
    const impatience = setTimeout(() => {
      none(`no answer within ${patienceMs} ms`);
      sent.destroy();
    }, patienceMs);
    sent.once('error', (error) => none(error.message));
    sent.end(body.length === 0 ? undefined : body);
  });
}

function bytesOf(body: object | undefined): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  return Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
}

function parsed(bytes: Buffer, type: string | undefined): unknown {
  if (type === BINARY) return bytes;
  const text = bytes.toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
