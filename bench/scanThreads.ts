/** Exact searches with and without search threads, in turns, over equal rows: a single search, and several at once. */
import { SEARCH_PROGRAM } from '../shard/index/searchProgram.js';
import { ScanThreads } from '../shard/kernel/scanThreads.js';
import { VectorBlocks } from '../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../shard/kernel/vectorMemory.js';
import { systemClock } from '../shared/clock.js';
import { silentLogger } from '../shared/logger.js';
import { nextTurn } from '../shared/scheduling/slice.js';
import type { Sizes } from './options.js';
import { median, type Row } from './row.js';

const K = 10;
const THREADS = [0, 1, 2];
const IN_FLIGHT = 8;
/** Rows of a search that runs in the event loop. */
const SMALL_ROWS = 1_000;
const SMALL_SEARCHES = 200;
const WARM_UP_ROUNDS = 20;

type Vector = () => Int32Array;

function filled(rows: number, count: number, vector: Vector): { vectors: VectorBlocks; threads: ScanThreads } {
  const threads = new ScanThreads({ count, logger: silentLogger }, SEARCH_PROGRAM);
  const sample = vector();
  const vectors = new VectorBlocks(new VectorMemory({ threads }), sample.length);
  for (let id = 1; id <= rows; id++) {
    const slot = vectors.acquire();
    vectors.write(slot, id, new Uint8Array(vector().buffer));
    vectors.publish(slot);
  }
  return { vectors, threads };
}

async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  await work();
  return systemClock.monotonicMs() - startedMs;
}

const together = (vectors: VectorBlocks, query: Int32Array, count: number): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, () => vectors.search(query, K, nextTurn)));

async function smallOnes(vectors: VectorBlocks, query: Int32Array): Promise<void> {
  for (let i = 0; i < SMALL_SEARCHES; i++) await vectors.search(query, K, nextTurn);
}

/** `vector`: makes a new vector at each call. */
export async function benchThreads(rows: number, vector: Vector, { kernelRounds }: Sizes): Promise<Row[]> {
  const large = THREADS.map((count) => filled(rows, count, vector));
  const small = THREADS.map((count) => filled(SMALL_ROWS, count, vector));
  const query = vector();
  const works = [
    ...large.map(
      ({ vectors }) =>
        () =>
          together(vectors, query, 1),
    ),
    ...large.map(
      ({ vectors }) =>
        () =>
          together(vectors, query, IN_FLIGHT),
    ),
    ...small.map(
      ({ vectors }) =>
        () =>
          smallOnes(vectors, query),
    ),
  ];
  for (let round = 0; round < WARM_UP_ROUNDS; round++) for (const work of works) await work();
  const rounds: number[][] = [];
  for (let round = 0; round < kernelRounds; round++) {
    const times: number[] = [];
    for (const work of works) times.push(await timeMs(work));
    rounds.push(times);
  }
  await Promise.all([...large, ...small].map(({ threads }) => threads.close()));
  for (const { vectors } of [...large, ...small]) vectors.destroy();
  const of = `${rows} × ${query.length}`;
  const names = [
    `search, ${of}, alone`,
    `search, ${of}, ${IN_FLIGHT} at once`,
    `search, ${SMALL_ROWS} × ${query.length}`,
  ];
  return names.flatMap((name, group) =>
    THREADS.slice(1).map((count, at): Row => {
      const ratio = median(rounds.map((times) => times[3 * group + at + 1]! / times[3 * group]!));
      return { part: 'kernel', name: `${name}: ${count} threads / none`, value: ratio, unit: 'times' };
    }),
  );
}
