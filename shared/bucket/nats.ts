/** A bucket in JetStream's key-value store. Every read asks the stream's leader: a replica may lag behind an answered write. */
import { type KV, type KvEntry, MsgHdrsImpl, millis, nanos, StorageType } from 'nats';
import { VouchError } from '../errors.js';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM } from '../natsError.js';
import { tellOfReplicas } from '../replicaWarning.js';
import type { Bucket, Change, Entry, Json, Watch } from './bucket.js';
import { isEntryOf } from './entryShapes.js';
import { NatsWatch } from './natsWatch.js';

const OPERATION_HEADER = 'KV-Operation';
const KEY = /^[A-Za-z0-9_=-]+(\.[A-Za-z0-9_=-]+)*$/;
const KEY_MAX_CHARS = 255;
/** JetStream remembers message ids for this long, and not longer than it keeps the messages; we send none. */
const DUPLICATE_WINDOW_MS = 120_000;

export interface BucketOptions {
  readonly name: string;
  readonly ttlMs: number | undefined;
  readonly replicas: number;
}

/**
 * Opens the bucket, making it where it does not exist; several processes may do so at once. Entries with a time to live
 * are kept in files like the others: a bucket in memory would begin its revisions anew after a restart of the server,
 * and an old revision would then pass for a new one.
 */
export async function openNatsBucket(connection: ClusterConnection, options: BucketOptions): Promise<NatsBucket> {
  const { name, ttlMs, replicas } = options;
  const kv = await connection.call(() =>
    connection.js.views.kv(name, {
      history: 1,
      storage: StorageType.File,
      replicas,
      allow_direct: false,
      ...(ttlMs === undefined ? {} : { ttl: ttlMs }),
    }),
  );
  await adoptSettings(connection, kv, options);
  return new NatsBucket(connection, kv, name, ttlMs);
}

/** A bucket from an earlier run: its time to live follows the configuration, its replicas are the operator's to change. */
async function adoptSettings(connection: ClusterConnection, kv: KV, options: BucketOptions): Promise<void> {
  const { name, ttlMs = 0, replicas } = options;
  const { streamInfo } = await connection.call(() => kv.status());
  const { config } = streamInfo;
  tellOfReplicas(connection, { stream: config.name, replicas: config.num_replicas, wanted: replicas });
  if (millis(config.max_age) === ttlMs) return;
  connection.logger.info({ bucket: name, wasMs: millis(config.max_age), ttlMs }, 'the time to live changes');
  const duplicateWindowMs = ttlMs === 0 ? DUPLICATE_WINDOW_MS : Math.min(ttlMs, DUPLICATE_WINDOW_MS);
  await connection.call(() =>
    connection.jsm.streams.update(config.name, { max_age: nanos(ttlMs), duplicate_window: nanos(duplicateWindowMs) }),
  );
}

export class NatsBucket implements Bucket {
  constructor(
    private readonly connection: ClusterConnection,
    private readonly kv: KV,
    private readonly name: string,
    private readonly ttlMs: number | undefined,
  ) {}

  async get(key: string): Promise<Entry | undefined> {
    const found = await this.find(key);
    if (!found || isDeletion(found)) return undefined;
    return { key, value: this.parse(key, found.value), revision: found.revision };
  }

  /**
   * Looks first: that there is no message, a cluster checks when it stores one, and what is refused then, servers before
   * 2.11 miscount when they start again, and number the messages of the stream otherwise from then on.
   */
  async create(key: string, value: Json): Promise<number | undefined> {
    const found = await this.find(key);
    if (!found) return this.expecting(key, () => this.kv.create(key, JSON.stringify(value)));
    return isDeletion(found) ? this.update(key, value, found.revision) : undefined;
  }

  update(key: string, value: Json, revision: number): Promise<number | undefined> {
    return this.expecting(key, () => this.kv.update(key, JSON.stringify(value), revision));
  }

  put(key: string, value: Json): Promise<number> {
    return this.call(key, () => this.kv.put(key, JSON.stringify(value)));
  }

  /** Deletes once more what was found deleted: no leader can take that which does not know of a later write. */
  async isAbsent(key: string): Promise<boolean> {
    for (;;) {
      const found = await this.find(key);
      if (found && !isDeletion(found)) return false;
      const headers = MsgHdrsImpl.fromRecord({ [OPERATION_HEADER]: ['DEL'] });
      const options = { headers, expect: { lastSubjectSequence: found?.revision ?? 0 } };
      const again = () => this.connection.js.publish(`$KV.${this.name}.${key}`, new Uint8Array(0), options);
      if (await this.expecting(key, again)) return true;
    }
  }

  async delete(key: string): Promise<boolean> {
    for (;;) {
      const found = await this.find(key);
      if (!found || isDeletion(found)) return false;
      // Of several that delete the same entry one finds it; the others look again.
      const options = { previousSeq: found.revision };
      if (await this.expecting(key, () => this.kv.delete(key, options).then(() => true))) return true;
    }
  }

  watch(listener: (change: Change) => void): Promise<Watch> {
    return NatsWatch.start({
      connection: this.connection,
      bucket: this.name,
      ttlMs: this.ttlMs,
      parse: (key, bytes) => this.parse(key, bytes),
      exists: async (key) => {
        const found = await this.find(key);
        return found !== null && !isDeletion(found);
      },
      listener,
    });
  }

  private find(key: string): Promise<KvEntry | null> {
    return this.call(key, () => this.kv.get(key));
  }

  /** Undefined where the key's last write is not the one that the call expects. */
  private async expecting<T>(key: string, exchange: () => Promise<T>): Promise<T | undefined> {
    try {
      return await this.call(key, exchange);
    } catch (error) {
      if (isRefusal(error, JETSTREAM.wrongLastSequence)) return undefined;
      throw error;
    }
  }

  private async call<T>(key: string, exchange: () => Promise<T>): Promise<T> {
    if (key.length > KEY_MAX_CHARS || !KEY.test(key)) throw new VouchError('validation_error', `${key} is not a key`);
    return this.connection.call(exchange);
  }

  private parse(key: string, bytes: Uint8Array): Json {
    let value: Json;
    try {
      value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as Json;
    } catch (error) {
      throw new VouchError('internal_error', `${key} in bucket ${this.name} does not hold JSON`, { cause: error });
    }
    if (isEntryOf(this.name, key, value)) return value;
    throw new VouchError('internal_error', `${key} in bucket ${this.name} does not hold what belongs there`);
  }
}

const isDeletion = ({ operation }: KvEntry): boolean => operation !== 'PUT';
