/** Decides whether pages of other origins may call the API (Fetch standard, section CORS protocol). */
import { type Header, noContent, type Reply } from './reply.js';
import type { RequestHead } from './requestHead.js';

const MAX_AGE_SECS = 600;
const NOTHING: readonly Header[] = [];

/** Methods and headers that the API accepts, and response headers that a page may read. */
const PREFLIGHT: readonly Header[] = [
  ['access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
  [
    'access-control-allow-headers',
    // Libraries that trace requests add the last four to each.
    'authorization, content-type, idempotency-key, vouch-on-behalf-of, x-request-id, traceparent, tracestate, baggage, sentry-trace',
  ],
  ['access-control-max-age', String(MAX_AGE_SECS)],
];
const EXPOSED: Header = [
  'access-control-expose-headers',
  'x-request-id, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset',
];
const VARY: Header = ['vary', 'origin'];

export class Cors {
  readonly #allowed: ReadonlySet<string>;

  /** `origins`: empty: pages of no other origin may call; `*`: all may. Keys come in a header, never in a cookie. */
  constructor(origins: readonly string[]) {
    this.#allowed = new Set(origins);
  }

  /** The headers of every answer to the request. */
  headers({ origin }: RequestHead): readonly Header[] {
    if (this.#allowed.size === 0) return NOTHING;
    if (this.#allowed.has('*')) return [['access-control-allow-origin', '*'], EXPOSED];
    if (origin === undefined || !this.#allowed.has(origin)) return [VARY];
    return [['access-control-allow-origin', origin], EXPOSED, VARY];
  }

  /** The answer to a browser's preflight request; undefined for another request. */
  preflight({ method, origin, requestedMethod }: RequestHead): Reply | undefined {
    if (this.#allowed.size === 0 || method !== 'OPTIONS' || origin === undefined || requestedMethod === undefined)
      return undefined;
    return { ...noContent, headers: this.#allowed.has('*') || this.#allowed.has(origin) ? PREFLIGHT : NOTHING };
  }
}
