/** A search without options, compared with the index alone: the cost of unused options. */

import { Graph } from '../shard/graph/graph.js';
import { VectorBlocks } from '../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../shard/kernel/vectorMemory.js';
import { MetadataIndex } from '../shard/metadata/metadataIndex.js';
import { type Searched, searchCollection } from '../shard/search/search.js';
import { InsertionTimes } from '../shard/state/decayTimes.js';
import { TextIndex } from '../shard/text/textIndex.js';
import { systemClock } from '../shared/clock.js';
import { nextTurn, Slice } from '../shared/scheduling/slice.js';
import { liveHeapBytes } from './heap.js';
import { percentile } from './httpLoad.js';
import { K } from './inProcess.js';
import { median, type Row, rowAbout } from './row.js';
import { stateOf } from './stateOf.js';
import { fixedBytes, randomVectors } from './vectors.js';

const DIMENSION = 100;
/** Few records, so that the cost around the scan shows. */
const RECORDS = 200;
/** Searches of a count, too few for a garbage collection. */
const SEARCHES_A_COUNT = 200;
const COUNTS = 9;
const WARM_UP = 2_000;

export async function benchUnnamedOptions(rounds: number): Promise<Row[]> {
  const set = randomVectors(DIMENSION, RECORDS);
  const vectors = new VectorBlocks(new VectorMemory(), DIMENSION);
  for (let row = 0; row < RECORDS; row++) {
    const slot = vectors.acquire();
    vectors.write(slot, row + 1, fixedBytes(set.base, DIMENSION, row, row + 1));
    vectors.publish(slot);
  }
  try {
    return await compare(vectors, new Int32Array(fixedBytes(set.queries, DIMENSION, 0, 1).buffer), rounds);
  } finally {
    vectors.destroy();
  }
}

async function compare(vectors: VectorBlocks, query: Int32Array, rounds: number): Promise<Row[]> {
  const index: Searched['index'] = {
    serving: 'brute',
    search: (asked, k, eligible) => vectors.search(asked, k, nextTurn, { eligible }),
  };
  const searched: Searched = {
    vectors,
    index,
    metadata: new MetadataIndex(vectors.shape, () => null),
    texts: new TextIndex((slot) => vectors.idOf(slot)),
    graph: new Graph(),
    records: stateOf(vectors),
    insertions: new InsertionTimes(vectors.shape),
  };
  const call = { op: 'search', query: new Uint8Array(query.buffer), k: K } as const;
  const alone = async (): Promise<unknown> => index.search(query, K);
  const whole = async (): Promise<unknown> =>
    searchCollection(searched, query, call, () => new Slice(systemClock, Number.POSITIVE_INFINITY));
  for (let i = 0; i < WARM_UP; i++) await (i % 2 ? alone() : whole());
  const aloneUs = new Float64Array(rounds);
  const wholeUs = new Float64Array(rounds);
  for (let i = 0; i < rounds; i++) {
    aloneUs[i] = await microsecondsOf(alone);
    wholeUs[i] = await microsecondsOf(whole);
  }
  const row = rowAbout('search', `random ${RECORDS} × ${DIMENSION}`);
  return [
    row('the index alone p50', percentile(aloneUs.sort(), 0.5), 'µs'),
    row('a search without options p50', percentile(wholeUs.sort(), 0.5), 'µs'),
    row('the index alone: allocated', await bytesOf(alone), 'bytes'),
    row('a search without options: allocated', await bytesOf(whole), 'bytes'),
  ];
}

async function microsecondsOf(run: () => Promise<unknown>): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  for (let i = 0; i < 10; i++) await run();
  return 100 * (systemClock.monotonicMs() - startedMs);
}

/** Allocated bytes per run, median of several counts. */
async function bytesOf(run: () => Promise<unknown>): Promise<number> {
  const counts: number[] = [];
  while (counts.length < COUNTS) {
    liveHeapBytes();
    const { heapUsed: before } = process.memoryUsage();
    for (let i = 0; i < SEARCHES_A_COUNT; i++) await run();
    counts.push((process.memoryUsage().heapUsed - before) / SEARCHES_A_COUNT);
  }
  return median(counts);
}
