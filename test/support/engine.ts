/** Collections as a shard hosts them, over any event logs, without the shard: and the calls a coordinator sends them. */

import { generateKeyPairSync } from 'node:crypto';
import { Admission } from '../../shard/admission.js';
import type { CollectionContext } from '../../shard/collection/collectionContext.js';
import { ReachNotes } from '../../shard/collection/reachNotes.js';
import { DamageReports } from '../../shard/damageReports.js';
import { HostedCollection } from '../../shard/hostedCollection.js';
import type { IndexServices } from '../../shard/index/services.js';
import { VectorMemory } from '../../shard/kernel/vectorMemory.js';
import { ShardMetrics } from '../../shard/metrics.js';
import { Openings } from '../../shard/openings.js';
import { PastThread } from '../../shard/past/pastThread.js';
import { signerOf } from '../../shard/proof/signer.js';
import { Quota } from '../../shard/quota.js';
import type { SnapshotServices } from '../../shard/snapshot/snapshotServices.js';
import type { Bucket } from '../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../shared/bucket/memory.js';
import type { CollectionConfig, InsertCall, Receipt, Results, WriteCall } from '../../shared/calls.js';
import { type Clock, systemClock } from '../../shared/clock.js';
import { EXACT } from '../../shared/indexSpec.js';
import type { EventLogs } from '../../shared/log/eventLog.js';
import { silentLogger } from '../../shared/logger.js';
import { Reservations } from '../../shared/reservations.js';
import { InProcessTransport } from '../../shared/transport/inProcess.js';
import type { Envelope, Transport } from '../../shared/transport/transport.js';
import type { VaultStore } from '../../shared/vault/vaultStore.js';
import { MemoryVault, recordVaultOver } from './memoryVault.js';

export const DIMENSION = 2;
export const SHARD = 's1';
export const SIGNER = signerOf(generateKeyPairSync('ed25519').privateKey);

export const configOf = (id: number, name = `c${id}`): CollectionConfig => ({
  id,
  project: 'p',
  name,
  dimension: DIMENSION,
  metric: 'squared_l2',
  createdAtMs: 1_700_000_000_000,
});

export const soon = (): Envelope => ({ requestId: 'test', deadlineMs: systemClock.nowMs() + 20_000 });

/** Little-endian Q16.16 of whole numbers. */
export const fixed = (...values: number[]): Uint8Array =>
  new Uint8Array(Int32Array.from(values, (value) => value * 65_536).buffer);

export const requestIdOf = (n: number): Uint8Array => {
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setUint32(0, n + 1, true);
  return bytes;
};

export const insertOf = (vector: Uint8Array, extra: Partial<InsertCall> = {}): InsertCall => ({
  op: 'insert',
  vector,
  tag: 0,
  requestId: null,
  metadata: null,
  text: null,
  ...extra,
});

export const batchOf = (
  vectors: readonly Uint8Array[],
  requestIds: (Uint8Array | null)[] | null = null,
): WriteCall => ({
  op: 'insertBatch',
  count: vectors.length,
  vectors: Buffer.concat(vectors),
  metadata: null,
  texts: null,
  requestIds,
});

export interface EngineOptions {
  readonly capacity?: number;
  readonly dedupWindow?: number;
  readonly clock?: Clock;
  readonly shard?: string;
  /** Of reservations; given where several engines share them. */
  readonly bucket?: Bucket;
  readonly transport?: Transport;
  /** Of how far logs have reached. Without: nothing was noted of any. */
  readonly reached?: Bucket;
  /** Without: as in production. */
  readonly notesEveryMs?: number;
  /** Without: every collection is searched exactly. */
  readonly indexes?: IndexServices;
  readonly vault?: VaultStore;
  /** Of past states that are kept. */
  readonly pastStatesBytes?: number;
  /** Without: collections are opened from their logs. */
  readonly snapshots?: SnapshotServices;
}

/** Of a shard that has no index, desired or saved. */
const exactOnly = (): IndexServices =>
  ({
    desired: { read: async () => EXACT },
    store: { kindOf: () => undefined, removeAll: async () => undefined },
    absorber: { forget: () => undefined },
  }) as unknown as IndexServices;

/** What one shard has of collections. */
export class Engine {
  readonly reservations: Reservations;
  readonly context: CollectionContext;
  readonly #hosted = new Map<number, HostedCollection>();

  constructor(logs: EventLogs, options: EngineOptions = {}) {
    const { capacity = 1_000_000, dedupWindow = 65_536, clock = systemClock, shard = SHARD } = options;
    const transport = options.transport ?? new InProcessTransport({ logger: silentLogger });
    const bucket = options.bucket ?? new MemoryBucket({ logger: silentLogger });
    this.reservations = new Reservations(bucket, capacity);
    const quota = new Quota(this.reservations, transport, clock, silentLogger);
    quota.attach({ name: shard, collections: () => this.#hosted.values() });
    const metrics = new ShardMetrics();
    const memory = new VectorMemory();
    const { indexes = exactOnly() } = options;
    const { pastStatesBytes: boundBytes = 1 << 28 } = options;
    const pasts = new PastThread({
      boundBytes,
      clock: systemClock,
      logger: silentLogger,
      measured: (what) => metrics.past.measured(what),
      onSetAside: ({ id }, snapshot) => options.snapshots?.store.wasSetAside(id, { ...snapshot }),
    });
    this.context = {
      admission: new Admission(60_000, clock, (reason) => metrics.refused(reason)),
      openings: new Openings(),
      logs,
      reach: new ReachNotes({
        bucket: options.reached ?? new MemoryBucket({ logger: silentLogger }),
        ...{ mayAnswer: () => true, metrics: metrics.reach, logger: silentLogger },
        ...(options.notesEveryMs === undefined ? {} : { everyMs: options.notesEveryMs }),
      }),
      transport,
      memory,
      quota,
      vault: recordVaultOver(options.vault ?? new MemoryVault(), clock),
      indexes,
      pasts,
      snapshots: options.snapshots,
      damages: new DamageReports(),
      signer: SIGNER,
      metrics,
      clock,
      logger: silentLogger,
      dedupWindow,
    };
  }

  host(config: CollectionConfig): TestCollection {
    const hosted = new HostedCollection(config, this.context);
    this.#hosted.set(config.id, hosted);
    return new TestCollection(hosted);
  }
}

/** Typed calls. */
export class TestCollection {
  constructor(readonly hosted: HostedCollection) {}

  insert(values: readonly number[], extra: Partial<InsertCall> = {}): Promise<Results['insert']> {
    return this.write(insertOf(fixed(...values), extra)) as Promise<Results['insert']>;
  }

  async batch(
    rows: readonly (readonly number[])[],
    requestIds: (Uint8Array | null)[] | null = null,
  ): Promise<number[]> {
    const call = batchOf(
      rows.map((row) => fixed(...row)),
      requestIds,
    );
    const { ids } = (await this.write(call)) as Results['insertBatch'];
    return numbers(ids);
  }

  write(call: WriteCall, envelope: Envelope = soon()): Promise<unknown> {
    return this.hosted.write(call, envelope);
  }

  get(id: number): Promise<Results['get']> {
    return this.hosted.read({ op: 'get', id }, soon()) as Promise<Results['get']>;
  }

  /** All ids, nearest to the origin first. */
  async found(): Promise<number[]> {
    const query = fixed(...new Array<number>(DIMENSION).fill(0));
    const { ids } = (await this.hosted.read({ op: 'search', query, k: 5_000 }, soon())) as Results['search'];
    return numbers(ids);
  }

  async records(): Promise<number> {
    return ((await this.hosted.read({ op: 'describe' }, soon())) as Results['describe']).records;
  }

  /** The receipt of a write that carried this request id, as a replay is answered. */
  async replay(requestId: Uint8Array): Promise<Receipt> {
    const { deduplicated, receipt } = await this.insert([0, 0], { requestId });
    if (!deduplicated) throw new Error('the request id was not known any more');
    return receipt;
  }
}

const numbers = (bytes: Uint8Array): number[] => [...new Float64Array(new Uint8Array(bytes).buffer)];
