/** Collections of one shard over logs and a vault in memory, which outlive it, and shreds like a coordinator's. */
import type { Collection, CountedCollection } from '../../../coordinator/cluster/catalog/collection.js';
import { countUnknownKey } from '../../../coordinator/cluster/deletion/unknownKeys.js';
import { shredKey } from '../../../coordinator/handlers/shred.js';
import type { CollectionHandle } from '../../../shard/collection/collectionHandle.js';
import { PendingShreds } from '../../../shard/node/pendingShreds.js';
import type { Bucket } from '../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../shared/bucket/memory.js';
import { type Clock, systemClock } from '../../../shared/clock.js';
import { VouchError } from '../../../shared/errors/errors.js';
import type { EventLogs } from '../../../shared/log/eventLog.js';
import { silentLogger } from '../../../shared/logger.js';
import type { Actor } from '../../../shared/model/actor.js';
import type { ReadCall, Results } from '../../../shared/protocol/calls.js';
import type { InsertEncryptedCall, WriteCall } from '../../../shared/protocol/writes.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import { type ShredNote, ShredNotes } from '../../../shared/vault/shredNotes.js';
import { configOf, Engine, type EngineOptions, soon, type TestCollection } from './engine.js';
import { keyEntriesOf } from './keyEntries.js';
import { MemoryVault } from './memoryVault.js';
import { ScriptedLogs } from './scriptedLogs.js';

export const PROJECT = 'p';
/** Largest number of unknown keys that a project may shred: more than any test does. */
const UNKNOWN_KEYS_MAX = 100;

export const keyOf = (n: number): string => n.toString(16).padStart(32, '0');
export const textOf = (payload: Uint8Array): string => Buffer.from(payload).toString('utf8');

export class EncryptedRig {
  /** Runs before and after each commit that a shred asks of a collection; if it throws, so does the commit. */
  onCommit: (when: 'before' | 'after', collectionId: number) => Promise<void> | void = () => undefined;
  readonly vault = new MemoryVault();
  /** Runs before and after each note is set or removed. */
  onMark: () => Promise<void> | void = () => undefined;
  readonly notes = new ShredNotes(this.#notes(), systemClock);
  readonly logs = new ScriptedLogs();
  readonly #counters = new MemoryBucket({ logger: silentLogger });
  readonly #collections = new Map<number, TestCollection>();
  #engine: Engine;

  constructor(
    private readonly collectionIds: readonly number[],
    private readonly options: EngineOptions = {},
  ) {
    this.#engine = this.#start();
  }

  get context(): Engine['context'] {
    return this.#engine.context;
  }

  collection(id: number): TestCollection {
    return this.#collections.get(id)!;
  }

  /** Ends the shard; another process replays the logs. */
  async restart(): Promise<void> {
    await this.stop();
    this.#engine = this.#start();
  }

  async stop(): Promise<void> {
    for (const { hosted } of this.#collections.values()) await hosted.close({ keep: true });
  }

  insert(
    collectionId: number,
    payload: string,
    extra: Partial<InsertEncryptedCall> = {},
  ): Promise<Results['insertEncrypted']> {
    const call = {
      op: 'insertEncrypted',
      payload: Buffer.from(payload),
      keyId: null,
      tag: 0,
      requestId: null,
    } as const;
    return this.write(collectionId, { ...call, ...extra }) as Promise<Results['insertEncrypted']>;
  }

  async payload(collectionId: number, id: number): Promise<string> {
    const { payload } = (await this.read(collectionId, { op: 'getEncrypted', id })) as Results['getEncrypted'];
    return textOf(payload);
  }

  write(collectionId: number, call: WriteCall): Promise<unknown> {
    return this.collection(collectionId).write(call);
  }

  read(collectionId: number, call: ReadCall): Promise<unknown> {
    return this.collection(collectionId).hosted.run(call, soon());
  }

  async sequence(collectionId: number): Promise<number> {
    return ((await this.read(collectionId, { op: 'describe' })) as Results['describe']).sequence;
  }

  /** Number of keys with a note of a shred. */
  async noted(): Promise<number> {
    const notes = new Map<string, ShredNote>();
    (await this.notes.watch(notes)).stop();
    return notes.size;
  }

  shred(keyId: string, actor?: Actor): Promise<void> {
    const owners = {
      keyEntries: keyEntriesOf(this.vault),
      shredNotes: async () => this.notes,
      countUnknownKey: (project: string) => countUnknownKey(this.#counters, UNKNOWN_KEYS_MAX, project),
      findById: async (id: number) => (this.#collections.has(id) ? (configOf(id) as Collection) : undefined),
      list: async () => [...this.#collections.keys()].map((id) => configOf(id) as CountedCollection),
      call: async (collection: Collection, call: unknown, envelope: Envelope) => {
        await this.onCommit('before', collection.id);
        const hosted = this.#collections.get(collection.id);
        if (hosted === undefined) throw new VouchError('collection_not_found', 'the collection was deleted');
        const answer = await hosted.write(call as WriteCall, envelope);
        await this.onCommit('after', collection.id);
        return answer;
      },
    };
    return shredKey(owners as Parameters<typeof shredKey>[0], PROJECT, keyId, { ...soon(), actor });
  }

  /** Does the sweep that a shard does at its start and every few seconds. */
  async sweep(clock: Clock = systemClock): Promise<void> {
    const handles = (): CollectionHandle[] => [...this.#collections.values()].map((collection) => collection.hosted);
    const { vault, notes } = this;
    const catalog = new MemoryBucket({ logger: silentLogger });
    const shreds = new PendingShreds({ vault, notes, catalog, handles, clock, logger: silentLogger });
    await shreds.start();
    await shreds.stop();
    catalog.close();
  }

  #notes(): Bucket {
    const bucket = new MemoryBucket({ logger: silentLogger });
    const noting = async <T>(work: () => Promise<T>): Promise<T> => {
      await this.onMark();
      const result = await work();
      await this.onMark();
      return result;
    };
    return {
      get: (key) => bucket.get(key),
      create: (...created) => bucket.create(...created),
      update: (...updated) => bucket.update(...updated),
      put: (...put) => noting(() => bucket.put(...put)),
      next: (...next) => bucket.next(...next),
      clear: (key) => bucket.clear(key),
      delete: (key) => noting(() => bucket.delete(key)),
      watch: (listener) => bucket.watch(listener),
    };
  }

  #start(): Engine {
    const engine = new Engine(this.logs as EventLogs, { ...this.options, vault: this.vault });
    for (const id of this.collectionIds) this.#collections.set(id, engine.host(configOf(id)));
    return engine;
  }
}
