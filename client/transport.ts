/** How one request is sent, and its whole answer received. */
import { wholeAnswer } from '../verifier/wholeAnswer.js';
import type { Ending } from './ending.js';

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The address of the service with path and query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly bytes: Uint8Array;
}

/** Far more than the largest answers of the service, which are pieces of an export and pages of records. */
export const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Sends a request once. Rejects with the reason of the end, with AnswerTooLong, or with an error of the connection: then the request may
 * have been carried out.
 */
export type Transport = (request: Request, ending: Ending) => Promise<Answer>;

export function fetchTransport(fetch: typeof globalThis.fetch): Transport {
  return ({ url, method, headers, body }, ending) => {
    const aborting = new AbortController();
    ending.onEnd((reason) => aborting.abort(reason));
    // Frameworks that cache answers, such as Next.js, must not cache these. Not all runtimes declare `cache`.
    const init: RequestInit & { cache: 'no-store' } = { method, headers, cache: 'no-store' };
    if (body !== undefined) init.body = body;
    return wholeAnswer(url, init, { maxBytes: ANSWER_BYTES_MAX, signal: aborting.signal, fetch });
  };
}
