/** The calls of commands to a service, repeated while it is busy or out of reach. */
import { setTimeout as delay } from 'node:timers/promises';
import { DURATION_MAX_MS } from '../../config/config.js';
import { systemClock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import { codeOf } from '../../shared/files/durable.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';
import { AnswerTooLong, type WholeAnswer, wholeAnswer } from '../../verifier/index.js';
import { counted, printable, say } from '../terminal/line.js';
import type { ServiceTarget } from './target.js';

/** Longest waits of a command for a service. */
interface Patience {
  /** Longest time out of reach or too busy (503). */
  readonly outageMs: number;
  /** Longest wait of one request for rate limits. */
  readonly limitedMs: number;
}

/** Patience of unattended commands: hours of work must survive a restart of the service. */
const UNATTENDED: Patience = { outageMs: 120_000, limitedMs: Number.POSITIVE_INFINITY };
/** Longest time from a request to the last byte of its answer. */
const ANSWER_MS = 300_000;
/** Largest answer: several times a piece of an export. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** The codes of Node for a certificate that it does not accept. */
const CERTIFICATE = /CERT|^UNABLE_TO_VERIFY_LEAF_SIGNATURE$|^HOSTNAME_MISMATCH$/;

/** A refusal by the service. `code`: the code in the service's answer, if it has one. */
export class Refused extends Error {
  override readonly name = 'Refused';

  constructor(
    readonly status: number,
    message: string,
    readonly code?: string,
  ) {
    super(message);
  }
}

/** A body of msgpack. */
export class Packed {
  constructor(readonly bytes: Uint8Array) {}
}

export class ServiceClient {
  #rateLimitWaits = 0;

  constructor(
    private readonly target: ServiceTarget,
    private readonly patience = UNATTENDED,
    private readonly answerBytesMax = ANSWER_BYTES_MAX,
  ) {}

  /** Number of waits for a rate limit. */
  get rateLimitWaits(): number {
    return this.#rateLimitWaits;
  }

  /** Sends an object as JSON, or bytes unchanged; returns the JSON of the answer. Throws like `send`. */
  async ask<Answer>(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    return JSON.parse((await this.send(method, path, body)).toString('utf8')) as Answer;
  }

  /**
   * Throws Refused, also after too long a rate limit or 503; AnswerTooLong; and an Error of one line if the service stays out of
   * reach, or if its certificate is not accepted.
   */
  async send(method: 'GET' | 'POST', path: string, body?: object): Promise<Buffer> {
    const { url, key, onBehalfOf } = this.target;
    const headers = {
      authorization: `Bearer ${key}`,
      ...(onBehalfOf !== undefined && { 'vouch-on-behalf-of': onBehalfOf }),
    };
    const request = body === undefined ? { method, headers } : { method, ...withBody(headers, body) };
    const { outageMs, limitedMs } = this.patience;
    const startMs = systemClock.monotonicMs();
    let isReported = false;
    for (;;) {
      const outcome = await attempt(url + path, request, this.answerBytesMax);
      if ('bytes' in outcome) return outcome.bytes;
      const { isLimited, error, waitMs } = outcome;
      if (isLimited) this.#rateLimitWaits += 1;
      const waitedMs = systemClock.monotonicMs() - startMs;
      if (isLimited ? waitedMs + waitMs > limitedMs : waitedMs >= outageMs) throw atUrl(url, isLimited, error);
      if (!isLimited && !isReported) {
        say(
          'plain',
          'waiting',
          `${url}: ${error.message}; it will be tried again for ${counted(outageMs / 60_000, 'minute')}`,
        );
        isReported = true;
      }
      await delay(Math.min(waitMs, (isLimited ? limitedMs : outageMs) - waitedMs));
    }
  }
}

function atUrl(url: string, isLimited: boolean, error: Error): Error {
  if (isLimited) return error;
  const message = `${url} is out of reach: ${error.message}`;
  return error instanceof Refused ? new Refused(error.status, message, error.code) : new Error(message);
}

function withBody(headers: Readonly<Record<string, string>>, body: object): RequestInit {
  const { type, sent } = sentBody(body);
  return { headers: { ...headers, 'content-type': type }, body: sent };
}

function sentBody(body: object): { readonly type: string; readonly sent: Uint8Array<ArrayBuffer> | string } {
  if (body instanceof Packed) return { type: 'application/msgpack', sent: new Uint8Array(body.bytes) };
  if (body instanceof Uint8Array) return { type: 'application/octet-stream', sent: new Uint8Array(body) };
  return { type: 'application/json', sent: JSON.stringify(body) };
}

/** Throws Refused, AnswerTooLong and the error of a certificate if another attempt would not change the answer. */
async function attempt(
  url: string,
  request: RequestInit,
  maxBytes: number,
): Promise<{ bytes: Buffer } | { isLimited: boolean; waitMs: number; error: Error }> {
  let answer: WholeAnswer;
  try {
    answer = await wholeAnswer(url, request, { withinMs: ANSWER_MS, maxBytes });
  } catch (error) {
    if (error instanceof AnswerTooLong) throw error;
    if (CERTIFICATE.test(codeOf(causeOf(error)) ?? '')) throw ofCertificate(url, error);
    return { isLimited: false, waitMs: RETRY_MS.command, error: new Error(reasonOf(error)) };
  }
  const bytes = Buffer.from(answer.bytes.buffer);
  if (answer.ok) return { bytes };
  const { error: reason, code } = errorIn(bytes);
  const error = new Refused(answer.status, reason ?? `the service answers ${answer.status}`, code);
  if (answer.status !== 429 && answer.status !== 503) throw error;
  const waitMs = retryAfterMs(answer.headers.get('retry-after'));
  return { isLimited: answer.status === 429, waitMs, error };
}

/** The wait that `Retry-After` demands, from 1 s to 7 days. Without a number in the header: 1 s. */
export function retryAfterMs(header: string | null | undefined): number {
  const secs = /^\d+$/.test(header ?? '') ? Number(header) : 0;
  return Math.min(Math.max(secs * 1_000, RETRY_MS.command), DURATION_MAX_MS);
}

function ofCertificate(url: string, error: unknown): Error {
  const remedy = 'if an authority of your own signed it, name the file of that authority in NODE_EXTRA_CA_CERTS';
  return new Error(`the certificate of ${new URL(url).origin} is not accepted (${reasonOf(error)}); ${remedy}`);
}

/** The cause of an error of `fetch`, whose own text is only "fetch failed". */
const causeOf = (error: unknown): unknown =>
  error instanceof Error && error.cause !== undefined ? error.cause : error;

const reasonOf = (error: unknown): string => messageOf(causeOf(error));

/** The message and the code of a refusal, each if present. */
function errorIn(body: Buffer): { error?: string; code?: string } {
  try {
    const fields = Object.entries(JSON.parse(body.toString('utf8')) as object);
    return Object.fromEntries(
      fields.flatMap(([name, text]) => (typeof text === 'string' ? [[name, printable(text)]] : [])),
    );
  } catch {
    return {};
  }
}
