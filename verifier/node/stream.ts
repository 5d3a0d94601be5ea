/**
 * A collection's log straight from JetStream: stream `VOUCH_LOG_<p>`, subject `vouch.log.<p>.<id>`, where p is the id modulo the
 * number of streams. A message is a frame or a barrier.
 */
import {
  type ConnectionOptions,
  connect,
  consumerOpts,
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
  type StoredMsg,
} from 'nats';
import { readU32, readU64 } from '../bytes.js';
import { frameBefore, isIntact } from '../frame.js';
import { objectOf } from '../json.js';
import { type Reached, reachedIn } from '../reached.js';
import type { EventPlace } from '../recordTable.js';
import type { FrameSource, Place, PlacedFrame } from '../source.js';
import { SourceRefused } from '../source.js';
import { type CatalogItem, isAlias, itemOf } from './catalog.js';

const CATALOG = 'vouch-catalog';
const COUNTERS = 'vouch-counters';
const REACHED = 'vouch-watermarks';
/** The inbox and the prefix of JetStream's API for users of the role `operator`. */
const INBOX = '_INBOX.operator';
const IMPORTED_API = 'vouch.api';
const OWN_API = '$JS.API';
const STREAM_COUNT_KEY = 'log-streams';
/** Largest number of bytes of frames in memory. To check a change of a record, its earlier events are read again. */
const KEPT_BYTES = 64 * 1024 * 1024;
/** Longest wait for the next message, which may never come: a stale replica may lack it, or the stream was purged. */
const SILENCE_MS = 10_000;

interface JetStream {
  readonly connection: NatsConnection;
  readonly api: string;
  readonly jsm: JetStreamManager;
  readonly js: JetStreamClient;
}

export class JetStreamCluster {
  private constructor(private readonly at: JetStream) {}

  /** `api`: prefix of JetStream's API. Throws if it does not answer there. */
  static async #over(connection: NatsConnection, api: string): Promise<JetStreamCluster> {
    const jsm = await connection.jetstreamManager({ apiPrefix: api });
    return new JetStreamCluster({ connection, api, jsm, js: connection.jetstream({ apiPrefix: api }) });
  }

  /**
   * `url`: `nats://user:password@host:port`; `login`: any other login, and TLS. Throws an Error of one line if no such
   * server answers.
   */
  static async connect(
    url: string,
    login: Pick<ConnectionOptions, 'authenticator' | 'tls'> = {},
  ): Promise<JetStreamCluster> {
    const { username, password, hostname, port } = parsed(url);
    const credentials = password === '' ? { token: username } : { user: username, pass: password };
    const options = { servers: `${hostname}:${port || 4222}`, ...(username === '' ? {} : credentials) };
    const asked = { name: 'vouch verify', inboxPrefix: INBOX, maxReconnectAttempts: 3 };
    let connection: NatsConnection | undefined;
    try {
      connection = await connect({ ...options, ...login, ...asked });
      const opened = connection;
      return await JetStreamCluster.#over(opened, IMPORTED_API).catch(() => JetStreamCluster.#over(opened, OWN_API));
    } catch (error) {
      await connection?.close();
      throw new Error(`no JetStream answers at ${hostname}:${port || 4222}: ${(error as Error).message}`);
    }
  }

  /** The collections of the catalog. The bucket's `keys()` would drop messages that arrive while an earlier key is handled. */
  async catalog(): Promise<CatalogItem[]> {
    const bucket = await this.at.js.views.kv(CATALOG, { bindOnly: true });
    const prefix = `$KV.${CATALOG}.`;
    const listed = this.at.jsm.streams.info(`KV_${CATALOG}`, { subjects_filter: `${prefix}>` });
    const { state } = await listed.catch((error: Error) => {
      throw /stream not found/.test(error.message)
        ? new Error('no Vouch service is stored on this NATS server')
        : error;
    });
    const items: CatalogItem[] = [];
    for (const subject of Object.keys(state.subjects ?? {})) {
      const key = subject.slice(prefix.length);
      const entry = await bucket.get(key);
      const value = entry?.operation === 'PUT' ? objectOf(entry.json(), key) : undefined;
      if (value !== undefined && !isAlias(value)) items.push(itemOf(value, key));
    }
    return items;
  }

  /** The service's watermark, the last committed event; undefined before the first commit. */
  async reached(collectionId: bigint): Promise<Reached | undefined> {
    const bucket = await this.at.js.views.kv(REACHED, { bindOnly: true });
    const entry = await bucket.get(String(collectionId));
    return entry?.operation === 'PUT' ? reachedIn(objectOf(entry.json(), entry.key)) : undefined;
  }

  /** `silenceMs`: the time to wait for a message. */
  async openLog(collectionId: bigint, silenceMs = SILENCE_MS): Promise<StreamLog> {
    const counters = await this.at.js.views.kv(COUNTERS, { bindOnly: true });
    const count = (await counters.get(STREAM_COUNT_KEY))?.json<number>();
    if (count === undefined || !Number.isSafeInteger(count) || count < 1)
      throw new Error('the server does not say over how many streams the logs are spread');
    const part = Number(collectionId % BigInt(count));
    const subject = `vouch.log.${part}.${collectionId}`;
    return StreamLog.open(this.at, { stream: `VOUCH_LOG_${part}`, subject }, silenceMs);
  }

  async close(): Promise<void> {
    await this.at.connection.close();
  }
}

const EVENTS_AT = 4;
const FIRST_SEQUENCE_AT = 8;
const HEADER_END = 16;

/** The first sequence of an intact frame. */
const firstSequenceOf = (frame: Uint8Array): bigint => readU64(frame, FIRST_SEQUENCE_AT);

/** The sequence after the frame; undefined if it is too short to say. */
const sequenceAfter = (frame: Uint8Array): bigint | undefined =>
  frame.length < HEADER_END ? undefined : firstSequenceOf(frame) + BigInt(readU32(frame, EVENTS_AT));

/**
 * Whether the frame is superseded, and so skipped. An older NATS server may have stored two frames for one place. The first belongs
 * to the log; the later one is intact but was never answered (see docs/formats.md#jetstream).
 */
const isSuperseded = (frame: Uint8Array, nextSequence: bigint): boolean =>
  frame.length >= HEADER_END && firstSequenceOf(frame) < nextSequence && isIntact(frame);

interface Subject {
  readonly stream: string;
  readonly subject: string;
}

/** The log at the moment of its opening. */
export class StreamLog implements FrameSource {
  /** The frames that `readAgain` fetched last, by message. */
  readonly #kept = new Map<number, Uint8Array>();
  #keptBytes = 0;

  private constructor(
    private readonly at: JetStream,
    private readonly from: Subject,
    /** Message 0: the log is empty. */
    private readonly end: { readonly message: number; readonly sizeBytes: number },
    private readonly silenceMs: number,
  ) {}

  get sizeBytes(): number {
    return this.end.sizeBytes;
  }

  static async open(at: JetStream, from: Subject, silenceMs: number): Promise<StreamLog> {
    const message = (query: { last_by_subj: string } | { seq: number }): Promise<StoredMsg | undefined> =>
      at.jsm.streams.getMessage(from.stream, query).catch((error: Error) => {
        if (/no message found/i.test(error.message)) return undefined;
        throw error;
      });
    const last = await message({ last_by_subj: from.subject });
    const before = last && frameBefore(last.data);
    const lastFrame = before === undefined ? last : before === 0n ? undefined : await message({ seq: Number(before) });
    const sizeBytes = lastFrame === undefined ? 0 : claimedBytes(lastFrame.data);
    return new StreamLog(at, from, { message: last?.seq ?? 0, sizeBytes }, silenceMs);
  }

  async *frames(): AsyncGenerator<PlacedFrame, void, undefined> {
    if (this.end.message === 0) return;
    const options = consumerOpts().orderedConsumer().deliverAll().bindStream(this.from.stream);
    const messages = await this.at.js.subscribe(this.from.subject, options);
    const deadline = { timer: undefined as NodeJS.Timeout | undefined };
    const listen = (): void => {
      clearTimeout(deadline.timer);
      deadline.timer = setTimeout(() => messages.unsubscribe(), this.silenceMs);
    };
    try {
      listen();
      let nextSequence = 0n;
      for await (const { seq, data } of messages) {
        clearTimeout(deadline.timer);
        if (frameBefore(data) === undefined && !isSuperseded(data, nextSequence)) {
          yield { position: seq, bytes: data };
          nextSequence = sequenceAfter(data) ?? nextSequence;
        }
        if (seq >= this.end.message) return;
        listen();
      }
      throw await this.#whyUnfinished();
    } finally {
      clearTimeout(deadline.timer);
      messages.unsubscribe();
    }
  }

  async readAgain({ position, offset, length }: EventPlace): Promise<Uint8Array> {
    const frame = this.#kept.get(position) ?? (await this.#fetch(position));
    return frame.subarray(offset, offset + length);
  }

  placeOf(position: number, offset: number): Place {
    return { name: this.from.stream, message: position, byte: offset };
  }

  async close(): Promise<void> {
    this.#kept.clear();
  }

  /** The reason why messages stopped: a missing message is a fault of the log, a lost server is not. */
  async #whyUnfinished(): Promise<Error> {
    try {
      await this.at.jsm.streams.getMessage(this.from.stream, { seq: this.end.message });
      return new Error('the NATS server fell silent before the whole log had arrived: try again');
    } catch (error) {
      const { message } = error as Error;
      if (/no message found/i.test(message))
        return new SourceRefused(this.placeOf(this.end.message, 0), 'the message is not there any more');
      return new Error(`the NATS server went away before the whole log had arrived: ${message}`);
    }
  }

  async #fetch(position: number): Promise<Uint8Array> {
    // A direct get returns plain bytes; the stream's leader would send them in base64.
    const subject = `${this.at.api}.DIRECT.GET.${this.from.stream}`;
    const query = JSON.stringify({ seq: position });
    const { headers, data } = await this.at.connection.request(subject, query, { timeout: SILENCE_MS });
    if (headers?.hasError) throw new SourceRefused(this.placeOf(position, 0), 'the message is not there any more');
    this.#kept.set(position, data);
    this.#keptBytes += data.length;
    for (const [oldest, bytes] of this.#kept) {
      if (this.#keptBytes <= KEPT_BYTES || oldest === position) break;
      this.#kept.delete(oldest);
      this.#keptBytes -= bytes.length;
    }
    return data;
  }
}

/** JetStream does not report the size of one subject, but the last frame counts the bytes before it. */
const claimedBytes = (frame: Uint8Array): number => frame.length + (frame.length < 24 ? 0 : Number(readU64(frame, 16)));

function parsed(url: string): URL {
  try {
    return new URL(url.includes('://') ? url : `nats://${url}`);
  } catch {
    throw new Error(`${url} is not an address of a NATS server`);
  }
}
