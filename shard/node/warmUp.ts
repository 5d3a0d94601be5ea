/**
 * Writes and searches before the first calls arrive: until the code of a process is compiled, a batch takes two to five times
 * as long. They run on real collections over logs in memory; nothing is stored, and the shard's metrics do not count them.
 */
import { MemoryBucket } from '../../shared/bucket/memory.js';
import type { EventLog, EventLogs, Position } from '../../shared/log/eventLog.js';
import { Metrics } from '../../shared/metrics/metrics.js';
import { type AreCalls, areReads, areWrites } from '../../shared/protocol/callShapes.js';
import type { Call, InsertBatchCall, InsertCall, SearchCall } from '../../shared/protocol/calls.js';
import { packCalls, packOutcomes, unpackCalls } from '../../shared/protocol/wire.js';
import { Reservations } from '../../shared/registry/reservations.js';
import { Collection } from '../collection/collection.js';
import type { CollectionContext } from '../collection/collectionContext.js';
import { WatermarkNotes } from '../collection/watermarkNotes.js';
import { DesiredSpecs } from '../index/desiredSpecs.js';
import { VectorMemory } from '../kernel/vectorMemory.js';
import { bytesOf } from '../search/found.js';
import { Quota } from '../serving/quota.js';

const NAME = 'warm-up';
const DIMENSION = 128;
const ROWS = 512;
/** Several, as the compiler specialises code for the only collection that it has seen. */
const COLLECTIONS = 2;
const ROUNDS = 3;
const SEARCHES_PER_ROUND = 4;
/** No collection gets such an id, and it is still a small integer to the compiler. */
const FIRST_ID = 2 ** 30;
/** Reservations are generous: many times what is inserted. */
const CAPACITY = { maxRecords: 1 << 20, maxBytes: 2 ** 40 };
/** Holds all records of a collection. */
const ARENA_BYTES = 8 << 20;
const FRAME_BYTES_MAX = 8 << 20;

/** Resolves to the number of inserted records. */
export async function warmUp(shard: CollectionContext): Promise<number> {
  const { clock, logger } = shard;
  const bucket = new MemoryBucket({ logger });
  const metrics = new Metrics('shard', NAME);
  const context: CollectionContext = {
    ...shard,
    logs: logsInMemory,
    watermarks: new WatermarkNotes(bucket, () => true, metrics, logger),
    memory: new VectorMemory({ arenaBytes: ARENA_BYTES }),
    quota: new Quota(new Reservations(bucket, CAPACITY), shard.transport, clock, logger),
    indexes: { ...shard.indexes, desired: new DesiredSpecs(bucket) },
    snapshots: undefined,
    metrics,
  };
  let records = 0;
  for (let at = 0; at < COLLECTIONS; at++) records += await warmCollection(FIRST_ID - at, context);
  await bucket.close();
  return records;
}

async function warmCollection(id: number, context: CollectionContext): Promise<number> {
  const createdAtMs = context.clock.nowMs();
  const config = { id, project: NAME, name: NAME, dimension: DIMENSION, metric: 'squared_l2', createdAtMs } as const;
  const collection = await Collection.open(config, context, (damage) => {
    throw damage;
  });
  collection.promote();
  for (let round = 0; round < ROUNDS; round++) await insertAndSearch(collection, round);
  const { records } = collection.count();
  await collection.close({ keep: false });
  return records;
}

async function insertAndSearch(collection: Collection, round: number): Promise<void> {
  const batch: InsertBatchCall = {
    op: 'insertBatch',
    count: ROWS,
    vectors: vectorsOf(ROWS, round),
    metadata: null,
    texts: null,
    requestIds: null,
  };
  const vector = vectorsOf(1, round);
  const insert: InsertCall = { op: 'insert', vector, tag: 0, requestId: null, metadata: null, text: null };
  const search: SearchCall = { op: 'search', query: vector, k: 10 };
  for (const call of [batch, insert]) await runPacked(collection, call, areWrites);
  for (let i = 0; i < SEARCHES_PER_ROUND; i++) await runPacked(collection, search, areReads);
}

const ENVELOPE = { requestId: NAME, deadlineMs: Number.MAX_SAFE_INTEGER };

/** Takes the call out of a message, and packs its outcome into another. */
async function runPacked(collection: Collection, call: Call, areCalls: AreCalls<Call>): Promise<void> {
  for (const sent of unpackCalls(packCalls([{ ...ENVELOPE, call }]), areCalls))
    packOutcomes([{ ok: await collection.run(sent.call, sent) }]);
}

/** Q16.16 components between −8 and 8. */
function vectorsOf(rows: number, seed: number): Uint8Array {
  const components = new Int32Array(rows * DIMENSION);
  const factor = 0x9e3779b1 + 2 * seed;
  for (let i = 0; i < components.length; i++) components[i] = Math.imul(i + 1, factor) >> 12;
  return bytesOf(components);
}

/** Logs that take frames and keep none, as nobody reads them. */
const logsInMemory: EventLogs = { lateMs: 0, open: async () => logInMemory(), remove: async () => undefined };

function logInMemory(): EventLog {
  let frames: Position = 0;
  return {
    maxFrameBytes: FRAME_BYTES_MAX,
    staleMs: 0,
    append: async () => ++frames,
    read: async function* () {},
    readAt: async () => {
      throw new Error('the log of a warm-up keeps no frames');
    },
    head: async () => undefined,
    close: async () => undefined,
  };
}
