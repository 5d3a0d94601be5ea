/** The engine without HTTP and NATS: one shard over the local log, called in process. */
import { systemClock } from '../shared/clock.js';
import { inFolder } from './folder.js';
import { percentile } from './httpLoad.js';
import { Engine, envelope } from './inProcess.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { recall } from './recall.js';
import { type Row, rowAbout } from './row.js';
import { randomVectors, realVectors, setText, type VectorSet } from './vectors.js';

const PROJECT = 'bench';
const COLLECTION = 'measured';
/** A first collection, whose ingest allocates memory that the process needs once. */
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

const benchSet = (set: VectorSet, searches: number): Promise<Row[]> =>
  inFolder(async (dataDir) => [
    ...(await Engine.run(dataDir, (engine) => benchFresh(engine, set, searches))),
    await Engine.run(dataDir, (engine) => benchReplay(engine, set)),
  ]);

async function benchFresh(engine: Engine, set: VectorSet, searches: number): Promise<Row[]> {
  const row = rowAbout('engine', setText(set));
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
    row('ingest, batches of 1,000', set.count / ingestSeconds, 'records/s'),
    row('search p50', percentile(latenciesMs, 0.5), 'ms'),
    row('search p99', percentile(latenciesMs, 0.99), 'ms'),
    row('memory a record, its vector included', memoryBytes / set.count, 'bytes'),
    ...(right === undefined ? [] : [row('recall@10 against the exact ground truth', right, '')]),
  ];
}

/** Times the first call to a collection, which opens it. */
async function benchReplay(engine: Engine, set: VectorSet): Promise<Row> {
  const startedMs = systemClock.monotonicMs();
  await engine.search(await engine.backend.find(PROJECT, COLLECTION), set, 1);
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  return rowAbout('engine', setText(set))('replay at a restart', set.count / seconds, 'records/s');
}
