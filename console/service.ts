/** Calls of the API with the key of this tab. */
import type { OwnKeyResponse } from '../coordinator/contract/service.js';
import { type WholeAnswer, wholeAnswer } from '../verifier/wholeAnswer.js';
import type { Poll } from './loading.js';
import { PREFIX } from './prefix.js';
import { RateLimit } from './rateLimit.js';

/** A refusal of the service, or no answer at all (status 0). */
export class CallError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Answered<T> {
  readonly body: T;
  /** From the request to the whole answer, milliseconds. */
  readonly tookMs: number;
}

export interface Events {
  /** The service no longer accepts the key, or the user signs out. */
  readonly onSignedOut: () => void;
  /** Receives the number of requests that wait for the rate limit, whenever it changes. */
  readonly onWaiting: (requests: number) => void;
}

/** The project of the key, and its scope. */
type Rights = Pick<OwnKeyResponse, 'project' | 'scope'>;

/** The name under which the key is kept. Another prefix of the same origin may be another service, which must not get the key. */
const KEPT = `vouch-key${PREFIX}`;
/** Longer than the longest request, which is a rebuild. */
const ANSWER_MS = 20 * 60_000;
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

export class Service {
  readonly #limit: RateLimit;

  private constructor(
    private readonly key: string,
    /** Undefined until the key was accepted. */
    private readonly rights: Rights | undefined,
    private readonly events: Events,
  ) {
    this.#limit = new RateLimit(events.onWaiting);
  }

  /** The service with the remembered key and its rights, which are kept as long as the tab. */
  static remembered(events: Events): Service | undefined {
    const kept = sessionStorage.getItem(KEPT);
    if (kept === null) return undefined;
    try {
      const { key, rights } = JSON.parse(kept) as { readonly key: string; readonly rights: Rights };
      return new Service(key, rights, events);
    } catch {
      return undefined; // An earlier version of the console kept the key alone.
    }
  }

  /** Throws CallError if the service refuses the key. */
  static async signIn(key: string, onWaiting: Events['onWaiting']): Promise<void> {
    const service = new Service(key, undefined, { onSignedOut: () => {}, onWaiting });
    const { project, scope } = await service.call<OwnKeyResponse>('GET', '/v1/keys/self');
    sessionStorage.setItem(KEPT, JSON.stringify({ key, rights: { project, scope } }));
  }

  signOut(): void {
    sessionStorage.removeItem(KEPT);
    this.events.onSignedOut();
  }

  get project(): string {
    return this.rights?.project ?? '';
  }

  get scope(): string {
    return this.rights?.scope ?? '';
  }

  get mayWrite(): boolean {
    return this.scope === 'read_write' || this.isAdmin;
  }

  get isAdmin(): boolean {
    return this.scope === 'admin';
  }

  /** Polls with spare requests of the project. */
  poll(everyMs: number): Poll {
    return { everyMs, isAllowed: () => this.#limit.takeSpare() };
  }

  /** Waits for a spare request of the project, for a request that the user did not start. */
  untilSpare(signal: AbortSignal): Promise<void> {
    return this.#limit.untilSpare(signal);
  }

  async call<T>(method: Method, path: string, body?: object | string, signal?: AbortSignal): Promise<T> {
    return (await this.timed<T>(method, path, body, signal)).body;
  }

  /** `body`: a text is JSON already. Waits for the rate limit. Throws CallError. */
  async timed<T>(method: Method, path: string, body?: object | string, signal?: AbortSignal): Promise<Answered<T>> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.key}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const text = typeof body === 'object' ? JSON.stringify(body) : body;
    const request = { method, headers, ...(text !== undefined && { body: text }) };
    let [startedMs, tookMs] = [0, 0];
    const send = async (): Promise<WholeAnswer> => {
      startedMs = performance.now();
      const bounds = { withinMs: ANSWER_MS, maxBytes: ANSWER_BYTES_MAX, signal };
      const answer = await wholeAnswer(PREFIX + path, request, bounds);
      tookMs = performance.now() - startedMs;
      return answer;
    };
    let answer: WholeAnswer;
    try {
      answer = await this.#limit.run(send, signal);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new CallError(0, 'unreachable', 'The service does not answer. Check that it runs, then reload the page.');
    }
    return { body: this.#bodyOf<T>(answer), tookMs };
  }

  #bodyOf<T>({ ok, status, bytes }: WholeAnswer): T {
    const text = new TextDecoder().decode(bytes);
    const parsed = text === '' ? undefined : parsedOr(text);
    if (ok) return parsed as T;
    const { error = `The service answers with status ${status}.`, code = '' } = (parsed ?? {}) as Partial<
      Record<'error' | 'code', string>
    >;
    if (status === 401) this.signOut();
    throw new CallError(status, code, error);
  }
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `/v1/timeline?collection=a&limit=5`, without what is undefined. */
export function pathOf(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
