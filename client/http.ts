/**
 * Requests with retries.
 *
 * ```text
 * attempt ──answer──▶ done
 *    │ 429: not carried out ───────────────▶ wait Retry-After ─▶ attempt
 *    │ 503, or the connection broke: it may have been carried out
 *    └──▶ retried if `repeat` allows it ───▶ wait Retry-After, or ever longer ─▶ attempt
 * ```
 *
 * One deadline covers all attempts and waits. A wait that would pass it is not begun: the last failure is thrown.
 */
import { AnswerTooLong } from '../verifier/wholeAnswer.js';
import { assertedMs, jitter, monotonicMs, sleep } from './clock.js';
import { Ending, PASSED } from './ending.js';
import {
  ConnectionError,
  DeadlineError,
  errorOf,
  RateLimitedError,
  UnexpectedAnswerError,
  type VouchError,
} from './errors.js';
import { assertKnown, assertPlain, assertRequest, exactRequest, isOfFloat32, type RequestName } from './exact.js';
import { packed } from './msgpack.js';
import { nodeTransport } from './nodeTransport.js';
import { fromWire } from './spelling.js';
import { type Answer, fetchTransport, type Request, type Transport } from './transport.js';

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call; it then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** The deadline of the call with all its retries; `Infinity`: none. */
  readonly timeoutMs?: number | undefined;
  /** For whom the call is made: 1 to 128 visible ASCII characters, best a pseudonym. Every event of the call names it. */
  readonly onBehalfOf?: string | undefined;
}

export interface HttpOptions {
  /** The address of a coordinator, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** The deadline of a call with all its retries; `Infinity`: none. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** The number of retries after a 503 or a broken connection. After a 429 only the deadline counts. Default 10: some 20 seconds. */
  readonly retries?: number | undefined;
  /** For whom all calls are made that do not say; see `CallOptions`. */
  readonly onBehalfOf?: string | undefined;
  /** The function that sends requests. Default: in Node `node:http`, elsewhere the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/**
 * Whether a request that may have been carried out is sent again. `safe`: always, as its second execution changes nothing.
 * `once`: never. `removal`: always. If the second attempt finds nothing, the first has removed it.
 */
export type Repeat = 'safe' | 'once' | 'removal';

/** Where a body is sent, and the name of its request. */
export interface Target {
  readonly path: string;
  readonly of: RequestName;
}

export interface Call {
  readonly method: Request['method'];
  readonly path: string;
  /** Parameters of the request `of`. Null: left out. */
  readonly query?: object | undefined;
  /** The body, of the request `of`: sent in the spelling of the API. */
  readonly body?: object | undefined;
  /** The name of the request, which decides its fields. Default: one with a collection only. */
  readonly of?: RequestName;
  /** The vectors of the body. If float32 holds each component of all, the body is sent as msgpack, with their bytes. */
  readonly vectors?: readonly unknown[];
  /** A body that is sent unchanged, instead of `body`: checked JSON with keys of the caller, or bytes. */
  readonly own?: object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** A status besides 2xx that is not a failure. */
  readonly alsoStatus?: number;
  readonly repeat: Repeat;
}

const TIMEOUT_MS = 60_000;
const RETRIES = 10;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** The largest random addition to the wait that the service asks for. */
const SPREAD_MS = 250;
/** Statuses of the service, or of a proxy before it, after which another attempt may succeed. */
const PASSING = [502, 503, 504];
const GONE = ['record_not_found', 'collection_not_found', 'not_found'];

const utf8 = new TextDecoder();

export class Http {
  /** The address of the service, without a slash at its end. */
  readonly url: string;
  readonly #apiKey: string | undefined;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #transport: Transport;
  readonly #onBehalfOf: string | undefined;

  constructor(options: HttpOptions) {
    assertRequest(options, 'new Vouch', "{ url: 'http://127.0.0.1:8080', apiKey }");
    assertKnown(options, HTTP_OPTIONS, '');
    const { url, apiKey, timeoutMs = TIMEOUT_MS, retries = RETRIES, fetch, onBehalfOf } = options;
    if (!Number.isSafeInteger(retries) || retries < 0)
      throw new TypeError(`retries: expected a whole number, got ${retries}`);
    this.url = serviceUrl(url);
    this.#apiKey = apiKey === undefined ? undefined : assertedKey(apiKey);
    this.#timeoutMs = assertedMs('timeoutMs', timeoutMs);
    this.#retries = retries;
    this.#transport =
      (fetch === undefined ? nodeTransport(this.url) : undefined) ?? fetchTransport(fetch ?? globalThis.fetch);
    if ('onBehalfOf' in options) assertOnBehalfOf(onBehalfOf);
    this.#onBehalfOf = onBehalfOf;
  }

  /** Resolves to the JSON of the answer in camelCase; for a removal that an earlier attempt made, to undefined. */
  async json<T>(call: Call, options: CallOptions): Promise<T> {
    const { status, headers, bytes } = await this.send(call, options);
    if (status === NO_CONTENT) return undefined as T;
    const answer = jsonIn(bytes);
    if (typeof answer !== 'object' || answer === null) throw errorOf(status, undefined, requestIdIn(headers));
    return fromWire(answer) as T;
  }

  async text(call: Call, options: CallOptions): Promise<string> {
    return utf8.decode((await this.send(call, options)).bytes);
  }

  /** Throws a `VouchError`, the reason of the signal, or, before anything is sent, a TypeError. */
  async send(call: Call, options: CallOptions): Promise<Answer> {
    assertPlain(options, 'options');
    assertKnown(options, CALL_OPTIONS, 'options');
    if ('onBehalfOf' in options) assertOnBehalfOf(options.onBehalfOf);
    const { signal, timeoutMs = this.#timeoutMs, onBehalfOf = this.#onBehalfOf } = options;
    assertedMs('timeoutMs', timeoutMs);
    signal?.throwIfAborted();
    const ending = new Ending(timeoutMs, signal);
    try {
      return await this.#attempts(named(call, onBehalfOf), ending, signal, monotonicMs() + timeoutMs);
    } finally {
      ending.close();
    }
  }

  async #attempts(call: Call, ending: Ending, signal: AbortSignal | undefined, deadlineMs: number): Promise<Answer> {
    const request = this.#request(call);
    let failure: VouchError | undefined;
    let last: VouchError | undefined;
    for (let retries = 0; ; ) {
      try {
        const outcome = await this.#attempt(request, ending, call.alsoStatus);
        if (!('error' in outcome)) return outcome;
        const { error, retryAfterMs } = outcome;
        if (call.repeat === 'removal' && failure !== undefined && GONE.includes(error.code)) return REMOVED;
        const isRefused = error instanceof RateLimitedError;
        if (!isRefused && (!isPassing(error) || call.repeat === 'once' || retries++ >= this.#retries)) throw error;
        const waitMs = retryAfterMs === undefined ? backoffMs(retries) : retryAfterMs + jitter() * SPREAD_MS;
        if (monotonicMs() + waitMs >= deadlineMs) throw error;
        last = error;
        // A request that was refused has not been carried out.
        if (!isRefused) failure = error;
        await sleep(waitMs, signal);
      } catch (error) {
        if (error === PASSED) throw new DeadlineError('deadline', PASSED_MESSAGE, { cause: last });
        throw error;
      }
    }
  }

  /** Rejects only with the reason of the end, or with what a framework throws out of `fetch`. */
  async #attempt(request: Request, ending: Ending, alsoStatus?: number): Promise<Answer | Failed> {
    ending.throwIfEnded();
    const { url } = request;
    try {
      const answer = await this.#transport(request, ending);
      const { status, headers, bytes } = answer;
      if ((status >= 200 && status < 300) || status === alsoStatus) return answer;
      const seconds = headers.get('retry-after');
      return {
        error: errorOf(status, jsonIn(bytes), requestIdIn(headers)),
        retryAfterMs: seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined,
      };
    } catch (cause) {
      ending.throwIfEnded();
      if (isOfFramework(cause)) throw cause;
      if (cause instanceof AnswerTooLong)
        return {
          error: new UnexpectedAnswerError('unexpected_answer', `${url}: ${cause.message}`),
          retryAfterMs: undefined,
        };
      return { error: new ConnectionError('connection', `no answer from ${url}`, { cause }), retryAfterMs: undefined };
    }
  }

  #request({ method, path, query, body, of = 'CollectionQuery', vectors = [], own, headers }: Call): Request {
    const content = own === undefined ? body && encoded(of, body, vectors) : encodedOwn(own);
    const parameters = query === undefined ? '' : encodedQuery(body === undefined ? of : 'CollectionQuery', query);
    return {
      method,
      url: `${this.url}${path}${parameters}`,
      headers: {
        ...(this.#apiKey === undefined ? {} : { authorization: `Bearer ${this.#apiKey}` }),
        ...(content === undefined ? {} : { 'content-type': content.type }),
        ...headers,
      },
      body: content?.sent,
    };
  }
}

/** The parameters after a question mark. */
function encodedQuery(of: RequestName, query: object): string {
  const parameters = Object.entries(exactRequest(of, query)).filter(([, value]) => value !== null);
  if (parameters.some(([, value]) => /\p{Surrogate}/u.test(String(value))))
    throw new TypeError('a parameter with half of a surrogate pair cannot be sent');
  if (parameters.length === 0) return '';
  return `?${new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, String(value)]))}`;
}

interface Content {
  readonly sent: string | Uint8Array<ArrayBuffer>;
  readonly type: string;
}

function encoded(of: RequestName, body: object, vectors: readonly unknown[]): Content {
  const isPacked = vectors.length > 0 && vectors.every(isOfFloat32);
  const request = exactRequest(of, body, new Set(isPacked ? vectors : []));
  return isPacked
    ? { sent: packed(request), type: 'application/msgpack' }
    : { sent: JSON.stringify(request), type: 'application/json' };
}

function encodedOwn(own: object): Content {
  if (own instanceof Uint8Array) return { sent: own as Uint8Array<ArrayBuffer>, type: 'application/octet-stream' };
  return { sent: JSON.stringify(own), type: 'application/json' };
}

/** The address without a slash at its end. @throws {TypeError} unless it is one of HTTP. */
function serviceUrl(url: unknown): string {
  const given = url instanceof URL ? url.href : url;
  const isUrl = typeof given === 'string' && /^https?:\/\//i.test(given) && URL.canParse(given);
  if (!isUrl) {
    const shown = typeof given === 'string' ? JSON.stringify(given) : String(given);
    throw new TypeError(`url: expected the address of the service, such as http://127.0.0.1:8080, got ${shown}`);
  }
  const { href, origin, pathname } = new URL(given);
  // Do not show the address, since it may have a password.
  if (href !== origin + pathname) throw new TypeError('url: expected an address without a user, a query or a fragment');
  return href.replace(/\/$/, '');
}

/** The key without the line end of the file that it was read from. @throws {TypeError} for what a header cannot carry. */
function assertedKey(key: unknown): string {
  if (typeof key !== 'string') throw new TypeError(`apiKey: expected a string, got a ${typeof key}`);
  const trimmed = key.trim();
  if (!/^[!-~]+$/.test(trimmed)) throw new TypeError('apiKey: expected visible ASCII characters without spaces');
  return trimmed;
}

const CALL_OPTIONS = ['signal', 'timeoutMs', 'onBehalfOf'];

/** Splits the parameters of a request from the options of its call. Those that are left out stay out. */
export function split<Options extends CallOptions>(options: Options): [Omit<Options, keyof CallOptions>, CallOptions] {
  assertPlain(options, 'the request');
  const entries = Object.entries(options);
  const part = (isOfCall: boolean): object =>
    Object.fromEntries(entries.filter(([name]) => CALL_OPTIONS.includes(name) === isOfCall));
  return [part(false) as Omit<Options, keyof CallOptions>, part(true)];
}

const HTTP_OPTIONS = ['url', 'apiKey', 'timeoutMs', 'retries', 'fetch', 'onBehalfOf'];

const named = (call: Call, onBehalfOf: string | undefined): Call =>
  onBehalfOf === undefined ? call : { ...call, headers: { ...call.headers, 'vouch-on-behalf-of': onBehalfOf } };

/** @throws {TypeError} for a value that the header cannot carry: the log would name no person or system. */
function assertOnBehalfOf(text: unknown): void {
  if (typeof text === 'string' && /^[!-~]{1,128}$/.test(text)) return;
  throw new TypeError(`onBehalfOf: expected 1 to 128 visible ASCII characters, got ${JSON.stringify(text)}`);
}

interface Failed {
  readonly error: VouchError;
  /** The wait that the service asks for. */
  readonly retryAfterMs: number | undefined;
}

const PASSED_MESSAGE = 'the deadline passed before there was an answer';
const NO_CONTENT = 204;
const REMOVED: Answer = { status: NO_CONTENT, headers: { get: () => null }, bytes: new Uint8Array(0) };

/** Whether it is a message of Next.js to itself, thrown out of `fetch`: here, to render the page at each request. */
const isOfFramework = (thrown: unknown): boolean => thrown instanceof Error && 'digest' in thrown;

const isPassing = (error: VouchError): boolean =>
  error instanceof ConnectionError || (error.status !== undefined && PASSING.includes(error.status));

/** A random wait, between half and all of a time that doubles with each retry. */
const backoffMs = (retry: number): number =>
  Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (retry - 1)) * (0.5 + jitter() / 2);

const requestIdIn = (headers: Answer['headers']): string | undefined => headers.get('x-request-id') ?? undefined;

function jsonIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}
