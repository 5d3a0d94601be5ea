/** One HTTP exchange of a soak's client: an answer, or the reason for its absence. */
import { type Agent, request } from 'node:http';

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
  readonly idempotencyKey?: string | null | undefined;
  /** Milliseconds after which the client gives up. */
  readonly patienceMs: number;
  readonly agent: Agent;
}

const BINARY = 'application/octet-stream';

/** Makes an exchange; never throws. */
export type MakeExchange = (asking: Asking) => Promise<Exchange>;

export function exchange({ method, url, key, body, idempotencyKey, patienceMs, agent }: Asking): Promise<Exchange> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': Buffer.isBuffer(body) ? BINARY : 'application/json',
    ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
  };
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
        resolve({
          status: response.statusCode ?? 0,
          body: parsed(Buffer.concat(chunks), response.headers['content-type']),
        });
      });
    });
    const impatience = setTimeout(() => {
      none(`no answer within ${patienceMs} ms`);
      sent.destroy();
    }, patienceMs);
    sent.once('error', (error) => none(error.message));
    sent.end(Buffer.isBuffer(body) ? body : body && JSON.stringify(body));
  });
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
