/**
 * The kernel alone: exact scans compared with a plain read of their memory, in one process. The vectors are random and, if a folder
 * is given, real ones.
 */
import type hnswlib from 'hnswlib-node';
import { hnswlibNode } from '../scripts/hnswlib/library.js';
import { ExactScan } from '../shard/kernel/exactScan.js';
import { rowBytesOf } from '../shard/kernel/rowForm.js';
import { SlotSet } from '../shard/kernel/slotSet.js';
import { VectorBlocks } from '../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../shard/kernel/vectorMemory.js';
import { systemClock, systemEntropy } from '../shared/clock.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { median, type Row } from './row.js';
import { benchThreads } from './scanThreads.js';
import { fixedBytes, realVectors } from './vectors.js';

const WIDE_DIMENSION = 128;
const K = 10;
/** Rows of scans that threads share, as a multiple of the rows of other scans. */
const THREADED = 4;
const K_LARGE = 5_000;
/** Searches of a turn, each with its own query. Most of them find the caches filled by the search before. */
const SEARCHES = 8;

/** Bytes that the kernel's `readAll` reads at once. */
const READ_STEP_BYTES = 512;

/** Components in [-1, 1), or over the whole range of i32. */
function randomComponents(dimension: number, whole: boolean): Int32Array {
  const bytes = systemEntropy(4 * dimension);
  const components = new Int32Array(dimension);
  new Uint8Array(components.buffer).set(bytes);
  return whole ? components : components.map((bits) => (bits & 0x1ffff) - 0x10000);
}

/** Rows to search, and the queries. */
interface Searched {
  readonly name: string;
  readonly vectors: VectorBlocks;
  readonly queries: readonly Int32Array[];
}

function filled(rows: number, dimension: number, vector: (row: number) => Uint8Array): VectorBlocks {
  const vectors = new VectorBlocks(new VectorMemory(), dimension);
  for (let row = 0; row < rows; row++) {
    const slot = vectors.acquire();
    vectors.write(slot, row + 1, vector(row));
    vectors.publish(slot);
  }
  return vectors;
}

function randomRows(rows: number, dimension: number, whole = false): Searched {
  const vector = (): Int32Array => randomComponents(dimension, whole);
  return {
    name: `${rows} × ${dimension}`,
    vectors: filled(rows, dimension, () => new Uint8Array(vector().buffer)),
    queries: Array.from({ length: SEARCHES }, vector),
  };
}

async function realRows(folder: string, most: number): Promise<Searched> {
  const { name, base, queries, dimension, count } = await realVectors(folder);
  const rows = Math.min(most, count);
  const queryOf = (row: number): Int32Array => new Int32Array(fixedBytes(queries, dimension, row, row + 1).buffer);
  return {
    name: `${name} ${rows} × ${dimension}`,
    vectors: filled(rows, dimension, (row) => fixedBytes(base, dimension, row, row + 1)),
    queries: Array.from({ length: SEARCHES }, (_, row) => queryOf(row)),
  };
}

/** Returns hnswlib's search without an index, filled with the rows as f32. */
function bareOf(vectors: VectorBlocks): hnswlib.BruteforceSearch {
  const bare = new (hnswlibNode().BruteforceSearch)('l2', vectors.dimension);
  bare.initIndex(vectors.liveCount);
  for (let slot = 0; slot < vectors.liveCount; slot++) {
    const { buffer } = vectors.vectorBytes(slot);
    bare.addPoint(Array.from(new Int32Array(buffer), toNumber), slot);
  }
  return bare;
}

const toNumber = (component: number): number => component / 65_536;

function scan(vectors: VectorBlocks, query: Int32Array, k: number, eligible?: SlotSet): void {
  const underWay = new ExactScan(vectors, query, k, { eligible });
  underWay.step(Number.POSITIVE_INFINITY);
  underWay.hits();
  underWay.close();
}

function read(vectors: VectorBlocks): void {
  for (const { region, vectorsAddress, live, form, strideBytes } of vectors.blocks) {
    const sizeBytes = live.count * rowBytesOf(form, strideBytes);
    region.arena.kernel.readAll(vectorsAddress, sizeBytes - (sizeBytes % READ_STEP_BYTES));
  }
}

/** Mean milliseconds of a search, over one turn. */
function timeMs(search: (query: Int32Array) => void, queries: readonly Int32Array[]): number {
  const startedMs = systemClock.monotonicMs();
  for (const query of queries) search(query);
  return (systemClock.monotonicMs() - startedMs) / queries.length;
}

/**
 * Milliseconds of each piece of work, by round. They take turns, so that other load of the machine affects all alike. Before that
 * they run until V8's optimising compiler, which works on another thread, has compiled the kernel.
 */
async function measure(
  works: readonly ((query: Int32Array) => void)[],
  queries: readonly Int32Array[],
  { kernelRounds, kernelWarmUpMs }: Sizes,
): Promise<number[][]> {
  const untilMs = systemClock.monotonicMs() + kernelWarmUpMs * works.length;
  while (systemClock.monotonicMs() < untilMs) {
    for (const work of works) for (const query of queries) work(query);
    await new Promise(setImmediate);
  }
  return Array.from({ length: kernelRounds }, () => works.map((work) => timeMs(work, queries)));
}

async function benchScan({ name, vectors, queries }: Searched, sizes: Sizes): Promise<Row[]> {
  const oneABlock = new SlotSet(vectors.shape);
  for (const { firstSlot } of vectors.blocks) oneABlock.add(firstSlot);
  const bare = bareOf(vectors);
  const bareQueries = new Map(queries.map((query) => [query, Array.from(query, toNumber)]));
  const works = [
    () => read(vectors),
    (query: Int32Array) => scan(vectors, query, K),
    (query: Int32Array) => scan(vectors, query, K_LARGE),
    (query: Int32Array) => scan(vectors, query, K, oneABlock),
    (query: Int32Array) => void bare.searchKnn(bareQueries.get(query)!, K),
  ];
  const rounds = await measure(works, queries, sizes);
  vectors.destroy();
  const [readMs, scanMs, largeMs, sparseMs, bareMs] = [0, 1, 2, 3, 4].map((i) =>
    median(rounds.map((times) => times[i]!)),
  );
  const ratio = (to: number): number => median(rounds.map((times) => times[1]! / times[to]!));
  return [
    { part: 'kernel', name: `plain read, ${name}`, value: readMs!, unit: 'ms' },
    { part: 'kernel', name: `scan, ${name}, k ${K}`, value: scanMs!, unit: 'ms' },
    { part: 'kernel', name: `scan / read, ${name}`, value: ratio(0), unit: 'times' },
    { part: 'kernel', name: `hnswlib's search of all rows, ${name}, k ${K}`, value: bareMs!, unit: 'ms' },
    { part: 'kernel', name: `scan / hnswlib's, ${name}`, value: ratio(4), unit: 'times' },
    { part: 'kernel', name: `scan, ${name}, k ${K_LARGE}`, value: largeMs!, unit: 'ms' },
    { part: 'kernel', name: `scan, ${name}, one row a block eligible`, value: sparseMs!, unit: 'ms' },
  ];
}

async function benchWideScan(dimension: number, sizes: Sizes): Promise<Row> {
  const { name, vectors, queries } = randomRows(sizes.kernelRows, dimension, true);
  const rounds = await measure([(query) => scan(vectors, query, K)], queries, sizes);
  vectors.destroy();
  return {
    part: 'kernel',
    name: `wide scan, ${name}, k ${K}`,
    value: median(rounds.map(([wideMs]) => wideMs!)),
    unit: 'ms',
  };
}

export const benchKernel = (sizes: Sizes, dataFolder: string | undefined): Promise<Row[]> =>
  measured('kernel', sizes.dimensions.length + (dataFolder === undefined ? 2 : 3), async (progress) => {
    const rows: Row[] = [];
    const add = (more: readonly Row[]): void => {
      rows.push(...more);
      progress.advance(1);
    };
    for (const dimension of sizes.dimensions) add(await benchScan(randomRows(sizes.kernelRows, dimension), sizes));
    if (dataFolder !== undefined) add(await benchScan(await realRows(dataFolder, sizes.kernelRows), sizes));
    add([await benchWideScan(WIDE_DIMENSION, sizes)]);
    const vector = (): Int32Array => randomComponents(WIDE_DIMENSION, false);
    add(await benchThreads(THREADED * sizes.kernelRows, vector, sizes));
    return rows;
  });
