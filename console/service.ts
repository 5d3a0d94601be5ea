/** Calls of the API with the key of this tab. */
import { type WholeAnswer, wholeAnswer } from '../verifier/wholeAnswer.js';
import { PREFIX } from './prefix.js';

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

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Answered<T> {
  readonly body: T;
  /** From the request to the whole answer, milliseconds. */
  readonly tookMs: number;
}

/** Another prefix of the same origin may be another service, which must not get the key. */
const KEY = `vouch-key${PREFIX}`;
/** Longer than the longest request, which is a rebuild. */
const ANSWER_MS = 20 * 60_000;
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

export class Service {
  private constructor(
    readonly key: string,
    private readonly onUnauthorized: () => void,
  ) {}

  /** The key lives as long as the tab. */
  static remembered(onUnauthorized: () => void): Service | undefined {
    const key = sessionStorage.getItem(KEY);
    return key === null ? undefined : new Service(key, onUnauthorized);
  }

  /** Throws CallError where the service does not take the key. */
  static async signIn(key: string, onUnauthorized: () => void): Promise<Service> {
    const service = new Service(key, onUnauthorized);
    await service.call('GET', '/v1/namespaces');
    sessionStorage.setItem(KEY, key);
    return service;
  }

  signOut(): void {
    sessionStorage.removeItem(KEY);
    this.onUnauthorized();
  }

  async call<T>(method: Method, path: string, body?: object | string, signal?: AbortSignal): Promise<T> {
    return (await this.timed<T>(method, path, body, signal)).body;
  }

  /** `body`: a text is JSON already. Throws CallError. */
  async timed<T>(method: Method, path: string, body?: object | string, signal?: AbortSignal): Promise<Answered<T>> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.key}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const startedMs = performance.now();
    let answer: WholeAnswer;
    try {
      const text = typeof body === 'object' ? JSON.stringify(body) : body;
      const request = { method, headers, ...(text !== undefined && { body: text }) };
      answer = await wholeAnswer(PREFIX + path, request, { withinMs: ANSWER_MS, maxBytes: ANSWER_BYTES_MAX, signal });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new CallError(0, 'unreachable', 'the service does not answer');
    }
    const tookMs = performance.now() - startedMs;
    const text = new TextDecoder().decode(answer.bytes);
    const parsed = text === '' ? undefined : parsedOr(text);
    if (answer.ok) return { body: parsed as T, tookMs };
    const { error = `it answers ${answer.status}`, code = '' } = (parsed ?? {}) as { error?: string; code?: string };
    if (answer.status === 401) this.signOut();
    throw new CallError(answer.status, code, error);
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
