/** The calls of the API that export and import make, made again where the service asks for that or is out of reach. */
import { setTimeout as delay } from 'node:timers/promises';
import type { BeginImportRequest, ExportResponse, ImportResponse } from '../../coordinator/contract/backup.js';
import { systemClock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors.js';
import { say } from '../terminal/line.js';
import { printable } from '../verifier/command/print.js';
import type { Target } from './target.js';

/** How long a service that is out of reach is waited for. What its rate limits ask for is waited for without end. */
const OUTAGE_MS = 120_000;
const BETWEEN_TRIES_MS = 1_000;
/** Of one answer, the time of the transfer included. */
const ANSWER_MS = 300_000;

/** The service says no, and would again. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'Refused';
  }
}

export class BackupClient {
  constructor(private readonly target: Target) {}

  exportFacts(collection: string): Promise<ExportResponse> {
    return this.#json('GET', `/v1/export?collection=${encodeURIComponent(collection)}`);
  }

  /** Each frame behind its length, from the one with event `from` on; empty at the end of the log. */
  async exportLog(collection: string, from: number): Promise<Buffer> {
    return this.#send('GET', `/v1/export/log?collection=${encodeURIComponent(collection)}&from=${from}`);
  }

  beginImport(wanted: BeginImportRequest): Promise<ImportResponse> {
    return this.#json('POST', '/v1/import', Buffer.from(JSON.stringify(wanted)), 'application/json');
  }

  /** Frames that are there already are passed over, so it may be repeated. */
  importLog(name: string, frames: Buffer): Promise<ImportResponse> {
    return this.#json('POST', `/v1/import/${name}/log`, frames, 'application/octet-stream');
  }

  finishImport(name: string): Promise<ImportResponse> {
    return this.#json('POST', `/v1/import/${name}/finish`);
  }

  async #json<T>(method: string, path: string, body?: Buffer, contentType?: string): Promise<T> {
    return JSON.parse((await this.#send(method, path, body, contentType)).toString('utf8')) as T;
  }

  /** Throws Refused, and an Error of one line where the service is out of reach for too long. */
  async #send(method: string, path: string, body?: Buffer, contentType?: string): Promise<Buffer> {
    const outageEndsMs = systemClock.monotonicMs() + OUTAGE_MS;
    let isTold = false;
    for (;;) {
      const outcome = await this.#try(method, path, body, contentType);
      if ('body' in outcome) return outcome.body;
      if (!outcome.isLimited && systemClock.monotonicMs() >= outageEndsMs)
        throw new Error(`${this.target.url} is out of reach: ${outcome.reason}`);
      if (!outcome.isLimited && !isTold) {
        say('plain', 'waiting', `${this.target.url}: ${outcome.reason}; tried again for ${OUTAGE_MS / 60_000} minutes`);
        isTold = true;
      }
      await delay(outcome.waitMs);
    }
  }

  async #try(
    method: string,
    path: string,
    body: Buffer | undefined,
    contentType: string | undefined,
  ): Promise<{ body: Buffer } | { isLimited: boolean; waitMs: number; reason: string }> {
    let response: Response;
    let bytes: Buffer;
    try {
      response = await fetch(this.target.url + path, {
        method,
        headers: {
          authorization: `Bearer ${this.target.key}`,
          ...(contentType === undefined ? {} : { 'content-type': contentType }),
        },
        ...(body === undefined ? {} : { body: new Uint8Array(body) }),
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      bytes = Buffer.from(await response.arrayBuffer());
    } catch (error) {
      return { isLimited: false, waitMs: BETWEEN_TRIES_MS, reason: reasonOf(error) };
    }
    if (response.ok) return { body: bytes };
    const reason = errorIn(bytes) ?? `it answers ${response.status}`;
    if (response.status !== 429 && response.status !== 503) throw new Refused(response.status, reason);
    const waitMs = 1_000 * Number(response.headers.get('retry-after') ?? 1);
    return { isLimited: response.status === 429, waitMs, reason };
  }
}

/** fetch hides why behind "fetch failed". */
const reasonOf = (error: unknown): string =>
  messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);

function errorIn(body: Buffer): string | undefined {
  try {
    const { error } = JSON.parse(body.toString('utf8')) as { error?: unknown };
    return typeof error === 'string' ? printable(error) : undefined;
  } catch {
    return undefined;
  }
}
