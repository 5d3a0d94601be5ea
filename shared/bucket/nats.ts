/**
 * A bucket in JetStream's key-value store. Every read asks the stream's leader, which may itself be a stale replica. So what must
 * be current is decided by the revision of a write, or by a mark (`natsWatch.ts`).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type KV, type KvEntry, type MsgHdrs, MsgHdrsImpl, type Payload } from 'nats';
import { VouchError } from '../errors/errors.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { isRefusal, JETSTREAM } from '../nats/natsError.js';
import { RETRY_MS } from '../scheduling/retry.js';
import { type Bucket, type BucketValue, type Change, checkKey, type Entry, type Watch } from './bucket.js';
import { type BucketStream, prepareBucketStream } from './natsStream.js';
import { MARK_HEADER, NatsWatch } from './natsWatch.js';

const DELETION = { 'KV-Operation': ['DEL'] };
const MARK_KEY = '=';
const NOTHING = new Uint8Array(0);
/** The revision of a key without messages. */
const NO_MESSAGE = 0;

interface BucketOptions extends BucketStream {
  readonly name: string;
  /** Whether the value has the shape of this bucket's entries: other programs with access to the server may write anything. */
  readonly isEntry: (key: string, value: BucketValue) => boolean;
}

/** Opens the bucket and creates it if it does not exist; several processes may do so at once. */
export async function openNatsBucket(connection: ClusterConnection, options: BucketOptions): Promise<NatsBucket> {
  await prepareBucketStream(connection, options);
  const bound = { bindOnly: true, allow_direct: false };
  return new NatsBucket(connection, await connection.call(() => connection.js.views.kv(options.name, bound)), options);
}

export class NatsBucket implements Bucket {
  constructor(
    readonly connection: ClusterConnection,
    private readonly kv: KV,
    readonly options: BucketOptions,
  ) {}

  async get(key: string): Promise<Entry | undefined> {
    return this.#entryIn(await this.#last(key));
  }

  async create(key: string, value: BucketValue, isWanted?: () => Promise<boolean>): Promise<number | undefined> {
    const last = await this.#last(key);
    if ((last && !isDeletion(last)) || (isWanted !== undefined && !(await isWanted()))) return undefined;
    return this.update(key, value, last?.revision ?? NO_MESSAGE);
  }

  update(key: string, value: BucketValue, revision: number): Promise<number | undefined> {
    return this.#follow(key, revision, JSON.stringify(value));
  }

  put(key: string, value: BucketValue): Promise<number> {
    return this.#call(key, () => this.kv.put(key, JSON.stringify(value)));
  }

  /**
   * Returns the revision of the entry plus the number in the entry. That number is above 0 if the stream was lost and revisions
   * restarted.
   */
  async next(key: string, above: number): Promise<number> {
    for (;;) {
      const last = await this.get(key);
      const added = (last?.value ?? 0) as number;
      const revision = last ? await this.update(key, added, last.revision) : await this.create(key, added);
      if (revision === undefined) continue;
      if (added + revision > above) return added + revision;
      await this.update(key, above, revision);
    }
  }

  async clear(key: string): Promise<Entry | undefined> {
    for (;;) {
      const last = await this.#last(key);
      const entry = this.#entryIn(last);
      if (await this.#end(key, last?.revision ?? NO_MESSAGE)) return entry;
    }
  }

  async delete(key: string, revision?: number): Promise<boolean> {
    if (revision !== undefined) return this.#end(key, revision);
    for (;;) {
      const found = await this.find(key);
      if (!found) return false;
      // Only one of several concurrent deletions succeeds; the others look again.
      if (await this.#end(key, found.revision)) return true;
    }
  }

  /** Stores a mark, and returns its place in the stream. Every watch receives it, or a later one. */
  async mark(): Promise<number> {
    const headers = MsgHdrsImpl.fromRecord({ ...DELETION, [MARK_HEADER]: [''] });
    const mark = () => this.connection.js.publish(this.#subjectOf(MARK_KEY), NOTHING, { headers });
    return (await this.#call(MARK_KEY, mark)).seq;
  }

  watch(listener: (change: Change) => void): Promise<Watch> {
    return NatsWatch.start(this, listener);
  }

  /** The entry of the key, from the stream's leader. */
  async find(key: string): Promise<KvEntry | undefined> {
    const last = await this.#last(key);
    return last && !isDeletion(last) ? last : undefined;
  }

  parse(key: string, bytes: Uint8Array): BucketValue {
    let value: BucketValue;
    try {
      value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as BucketValue;
    } catch (cause) {
      throw this.#damaged(key, 'JSON', cause);
    }
    if (this.options.isEntry(key, value)) return value;
    throw this.#damaged(key, 'a valid entry');
  }

  #entryIn(last: KvEntry | null): Entry | undefined {
    if (!last || isDeletion(last)) return undefined;
    return { key: last.key, value: this.parse(last.key, last.value), revision: last.revision };
  }

  /** Stores a deletion; false if the key's last write is not the one at `revision`. */
  async #end(key: string, revision: number): Promise<boolean> {
    return (await this.#follow(key, revision, NOTHING, MsgHdrsImpl.fromRecord(DELETION))) !== undefined;
  }

  /** Stores a message after the key's last one, which must be at `after`. Returns its position; undefined if `after` is not the last. */
  async #follow(key: string, after: number, payload: Payload, headers?: MsgHdrs): Promise<number | undefined> {
    const options = { ...(headers && { headers }), expect: { lastSubjectSequence: after } };
    const publish = () => this.connection.js.publish(this.#subjectOf(key), payload, options);
    for (;;) {
      try {
        return (await this.#call(key, publish)).seq;
      } catch (error) {
        if (isRefusal(error, JETSTREAM.wrongLastSequence)) return undefined;
        // Another write of the key is in flight: this one is repeated.
        if (!isRefusal(error, JETSTREAM.wrongLastSequenceInFlight)) throw error;
      }
      await delay(RETRY_MS.write);
    }
  }

  #subjectOf(key: string): string {
    return `${this.connection.kvPrefix}$KV.${this.options.name}.${key}`;
  }

  #damaged(key: string, wanted: string, cause?: unknown): VouchError {
    const message = `${key} in bucket ${this.options.name} does not hold ${wanted}`;
    return new VouchError('internal_error', message, { cause });
  }

  /** The key's last message, which may be a deletion. */
  #last(key: string): Promise<KvEntry | null> {
    return this.#call(key, () => this.kv.get(key));
  }

  async #call<T>(key: string, exchange: () => Promise<T>): Promise<T> {
    checkKey(key);
    return this.connection.call(exchange);
  }
}

const isDeletion = ({ operation }: KvEntry): boolean => operation !== 'PUT';
