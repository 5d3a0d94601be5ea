/** Hosts collections like a shard does, over any event logs but without a shard, and calls them like a coordinator. */

import { generateKeyPairSync } from 'node:crypto';
import { loadConfig } from '../../../config/load.js';
import { AsOfThread } from '../../../shard/asOf/asOfThread.js';
import { countMeasured } from '../../../shard/asOf/measured.js';
import { CallAdmission } from '../../../shard/capacity/admission.js';
import { DamageReports } from '../../../shard/capacity/damageReports.js';
import { MemoryGuard } from '../../../shard/capacity/memoryGuard.js';
import { Quota } from '../../../shard/capacity/quota.js';
import { StoreGuard } from '../../../shard/capacity/storeGuard.js';
import type { CollectionContext } from '../../../shard/collection/collectionContext.js';
import { CollectionHandle } from '../../../shard/collection/collectionHandle.js';
import { WatermarkNotes } from '../../../shard/collection/watermarkNotes.js';
import type { IndexServices } from '../../../shard/index/services.js';
import type { ScanThreads } from '../../../shard/kernel/scanThreads.js';
import { VectorMemory } from '../../../shard/kernel/vectorMemory.js';
import type { SnapshotServices } from '../../../shard/snapshot/snapshotServices.js';
import type { EventLimits } from '../../../shard/state/eventLimits.js';
import type { Bucket } from '../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../shared/bucket/memory.js';
import { type Clock, systemClock } from '../../../shared/clock.js';
import { overloaded } from '../../../shared/errors/overloaded.js';
import { codeOf } from '../../../shared/files/durable.js';
import type { EventLogs } from '../../../shared/log/eventLog.js';
import { silentLogger } from '../../../shared/logger.js';
import { Metrics } from '../../../shared/metrics/metrics.js';
import type { CollectionConfig } from '../../../shared/model/collectionConfig.js';
import { BRUTE } from '../../../shared/model/indexSpec.js';
import type { Receipt } from '../../../shared/model/receipt.js';
import type { StoreRoom } from '../../../shared/platform/platform.js';
import type { Results } from '../../../shared/protocol/calls.js';
import type { InsertBatchCall, InsertCall, WriteCall } from '../../../shared/protocol/writes.js';
import { Reservations } from '../../../shared/registry/reservations.js';
import { signerOf } from '../../../shared/signing/signer.js';
import { InProcessTransport } from '../../../shared/transport/inProcess.js';
import type { Envelope, Transport } from '../../../shared/transport/transport.js';
import type { VaultStore } from '../../../shared/vault/vaultStore.js';
import { PATIENCE_MS } from '../patience.js';
import { MemoryVault, recordVaultOver } from './memoryVault.js';
import { trustingOpenings } from './trustingOpenings.js';

export const DIMENSION = 2;
export const DEFAULT_LIMITS: EventLimits = loadConfig({}).limits;
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

export const soon = (withinMs = PATIENCE_MS): Envelope => ({
  requestId: 'test',
  deadlineMs: systemClock.nowMs() + withinMs,
});

/** Integers as little-endian Q16.16. */
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
): InsertBatchCall => ({
  op: 'insertBatch',
  count: vectors.length,
  vectors: Buffer.concat(vectors),
  metadata: null,
  texts: null,
  requestIds,
});

export const memoryGuardOf = (usedBytes: () => number, limitBytes = 100): MemoryGuard =>
  new MemoryGuard({
    limitBytes,
    read: () => ({ usedBytes: usedBytes(), heapBytes: 0, heapLimitBytes: 1 }),
    refusal: () => overloaded('memory'),
    clock: systemClock,
    logger: silentLogger,
  });

/** A guard of a 100-byte store. `read`: its used bytes, or its room. */
export const storeGuardOf = (read: () => number | StoreRoom, limitBytes = 100): StoreGuard =>
  new StoreGuard({
    limitBytes,
    store: {
      storeRoom: async () => {
        const room = read();
        return typeof room === 'number' ? { usedBytes: room, freeBytes: undefined } : room;
      },
      refusesWrites: (error) => codeOf(error) === 'ENOSPC',
    },
    clock: systemClock,
    logger: silentLogger,
  });

/** The receipt in the answer of an insert. */
export const receiptIn = ({ receipt }: Pick<Results['insert'], 'receipt'>): Receipt => JSON.parse(receipt) as Receipt;

export interface EngineOptions {
  readonly capacity?: number;
  readonly capacityBytes?: number;
  /** Without it, memory is unlimited. */
  readonly memoryGuard?: MemoryGuard;
  readonly storeGuard?: StoreGuard;
  readonly dedupWindow?: number;
  /** Without it, the limits of `default.json`. */
  readonly limits?: Partial<EventLimits>;
  readonly clock?: Clock;
  readonly shard?: string;
  /** Bucket of reservations, given if several engines share it. */
  readonly bucket?: Bucket;
  readonly transport?: Transport;
  /** Bucket of the logs' watermarks. Without it, no watermarks exist. */
  readonly reached?: Bucket;
  /** Without it, the product's default. */
  readonly notesEveryMs?: number;
  /** Without it, every collection is searched exactly. */
  readonly indexes?: IndexServices;
  readonly vault?: VaultStore;
  /** Size of the cache of past states. */
  readonly asOfCacheBytes?: number;
  /** Without them, the event loop makes all searches. */
  readonly threads?: ScanThreads | undefined;
  /** Bytes of vectors and of open indexes; without it, they are unlimited. */
  readonly vectorBytesMax?: number | undefined;
  /** Without it, collections are opened from their logs. */
  readonly snapshots?: SnapshotServices;
}

/** Index services of a shard without desired or saved indexes. */
const exactOnly = (): IndexServices =>
  ({
    desired: { read: async () => BRUTE },
    store: { kindOf: () => undefined, removeAll: async () => undefined },
    absorber: { forget: () => undefined },
  }) as unknown as IndexServices;

/** The collections of one shard. */
export class Engine {
  readonly reservations: Reservations;
  readonly context: CollectionContext;
  readonly #hosted = new Map<number, CollectionHandle>();
  /** The noted first expiry of each collection; +∞ without one. */
  readonly due = new Map<number, number>();

  constructor(logs: EventLogs, options: EngineOptions = {}) {
    const { capacity: maxRecords = 1_000_000, capacityBytes: maxBytes = 2 ** 40 } = options;
    const { dedupWindow = 65_536, clock = systemClock, shard = SHARD } = options;
    const transport = options.transport ?? new InProcessTransport({ logger: silentLogger });
    const bucket = options.bucket ?? new MemoryBucket({ logger: silentLogger });
    this.reservations = new Reservations(bucket, { maxRecords, maxBytes });
    const quota = new Quota(this.reservations, transport, clock, silentLogger);
    quota.attach({ name: shard, collections: () => this.#hosted.values() });
    const metrics = new Metrics('shard', shard);
    const { threads, vectorBytesMax: boundBytes } = options;
    const memory = new VectorMemory({ ...(threads && { threads }), ...(boundBytes && { boundBytes }) });
    const { indexes = exactOnly() } = options;
    const { asOfCacheBytes: cacheBytesMax = 1 << 28 } = options;
    const pasts = new AsOfThread({
      cacheBytesMax,
      clock: systemClock,
      logger: silentLogger,
      measured: (what) => countMeasured(metrics, what),
      onSetAside: ({ id }, snapshot) => options.snapshots?.store.wasSetAside(id, { ...snapshot }),
    });
    this.context = {
      admission: new CallAdmission(60_000, clock, (reason) => metrics.count('vouch_refused_total', { reason })),
      openings: trustingOpenings(),
      logs,
      watermarks: new WatermarkNotes(
        options.reached ?? new MemoryBucket({ logger: silentLogger }),
        () => true,
        { metrics, logger: silentLogger },
        options.notesEveryMs,
      ),
      removals: {
        ensureNoted: async (id, nextMs) => void this.due.set(id, nextMs),
        isDue: (id) => (this.due.get(id) ?? Number.POSITIVE_INFINITY) <= clock.nowMs(),
        removeDue: () => Promise.resolve(),
      },
      transport,
      memory,
      quota,
      memoryGuard: options.memoryGuard ?? memoryGuardOf(() => 0, 2 ** 40),
      storeGuard: options.storeGuard ?? storeGuardOf(() => 0),
      vault: recordVaultOver(options.vault ?? new MemoryVault(), clock),
      indexes,
      pasts,
      snapshots: options.snapshots,
      damages: new DamageReports(),
      signer: SIGNER,
      metrics,
      clock,
      logger: silentLogger,
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      dedupWindow,
    };
  }

  host(config: CollectionConfig): TestCollection {
    const hosted = new CollectionHandle(config, this.context);
    this.#hosted.set(config.id, hosted);
    return new TestCollection(hosted);
  }
}

/** The answer of an insert, with its receipt parsed. */
export type Inserted = Omit<Results['insert'], 'receipt'> & { readonly receipt: Receipt };

/** Typed calls to one collection. */
export class TestCollection {
  constructor(readonly hosted: CollectionHandle) {}

  async insert(values: readonly number[], extra: Partial<InsertCall> = {}): Promise<Inserted> {
    const answer = (await this.write(insertOf(fixed(...values), extra))) as Results['insert'];
    return { ...answer, receipt: receiptIn(answer) };
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
    return this.hosted.run(call, envelope);
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

  /** Receipt in the answer to a repeated request id. */
  async replay(requestId: Uint8Array): Promise<Receipt> {
    const { deduplicated, receipt } = await this.insert([0, 0], { requestId });
    if (!deduplicated) throw new Error('the request id has left the dedup window');
    return receipt;
  }
}

const numbers = (bytes: Uint8Array): number[] => [...new Float64Array(new Uint8Array(bytes).buffer)];
