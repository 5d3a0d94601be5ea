/** The engine without HTTP and NATS: one shard over the local log, called in process. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../shared/clock.js';
import { deleteTree } from '../shared/files/durable.js';
import { percentile } from './httpLoad.js';
import { Engine, envelope } from './inProcess.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { recall } from './recall.js';
import type { Row } from './row.js';
import { randomVectors, realVectors, type VectorSet } from './vectors.js';

const PROJECT = 'bench';
const COLLECTION = 'measured';
/** Whose ingest makes room for whatever the process needs to ingest at all. */
const FIRST = 'warm-up';
const FIRST_RECORDS = 3_000;

export const benchEngine = ({ dimensions, engineRecords, engineSearches }: Sizes, dataFolder: string | undefined) => {
  const sets = dimensions.map((dimension) => async () => randomVectors(dimension, engineRecords));
  if (dataFolder !== undefined) sets.push(() => realVectors(dataFolder));
  return measured('engine', sets.length, async (progress) => {
    const rows: Row[] = [];
    for (const make of sets) {
      rows.push(...(await benchSet(await make(), engineSearches)));
      progress.advance(1);
    }
    return rows;
  });
};

async function benchSet(set: VectorSet, searches: number): Promise<Row[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'vouch-bench-'));
  try {
    return [...(await benchFresh(dataDir, set, searches)), await benchReplay(dataDir, set)];
  } finally {
    await deleteTree(dataDir);
  }
}

const rowOf = (set: VectorSet, name: string, value: number, unit: string): Row => {
  return { part: 'engine', name: `${name}, ${set.name} ${set.count} × ${set.dimension}`, value, unit };
};

async function benchFresh(dataDir: string, set: VectorSet, searches: number): Promise<Row[]> {
  const engine = await Engine.start(dataDir);
  try {
    const wanted = { dimension: set.dimension, index: 'brute' } as const;
    const first = await engine.backend.create(PROJECT, { ...wanted, name: FIRST }, envelope());
    await engine.ingest(first.collection, { ...set, count: Math.min(set.count, FIRST_RECORDS) });
    const { collection } = await engine.backend.create(PROJECT, { ...wanted, name: COLLECTION }, envelope());
    const bytesBefore = await engine.memoryBytes();
    const ingestSeconds = await engine.ingest(collection, set);
    const memoryBytes = (await engine.memoryBytes()) - bytesBefore;
    const { ids, latenciesMs } = await engine.search(collection, set, searches);
    const right = recall(set, ids);
    return [
      rowOf(set, 'ingest, batches of 1,000', set.count / ingestSeconds, 'records/s'),
      rowOf(set, 'search p50', percentile(latenciesMs, 0.5), 'ms'),
      rowOf(set, 'search p99', percentile(latenciesMs, 0.99), 'ms'),
      rowOf(set, 'memory a record, its vector included', memoryBytes / set.count, 'bytes'),
      ...(right === undefined ? [] : [rowOf(set, 'recall@10 against the exact ground truth', right, '')]),
    ];
  } finally {
    await engine.stop();
  }
}

/** A collection is opened by the first call that needs it. */
async function benchReplay(dataDir: string, set: VectorSet): Promise<Row> {
  const engine = await Engine.start(dataDir);
  try {
    const startedMs = systemClock.monotonicMs();
    await engine.search(await engine.backend.find(PROJECT, COLLECTION), set, 1);
    const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
    return rowOf(set, 'replay at a restart', set.count / seconds, 'records/s');
  } finally {
    await engine.stop();
  }
}
