/** The kernel alone: exact scans against a plain read of the same memory, in one process, on random vectors. */
import hnswlib from 'hnswlib-node';
import { ExactScan } from '../shard/kernel/exactScan.js';
import { SlotSet } from '../shard/kernel/slotSet.js';
import { VectorBlocks } from '../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../shard/kernel/vectorMemory.js';
import { systemClock, systemEntropy } from '../shared/clock.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { median, type Row } from './row.js';
import { benchThreads } from './scanThreads.js';

const WIDE_DIMENSION = 128;
const K = 10;
/** Rows that are shared by threads, in those of the other scans. */
const THREADED = 4;
const K_LARGE = 5_000;

/** What the kernel's `readAll` reads at once. */
const READ_STEP_BYTES = 512;

/** Components in [-1, 1), or over the whole range of i32. */
function randomComponents(dimension: number, whole: boolean): Int32Array {
  const bytes = systemEntropy(4 * dimension);
  const components = new Int32Array(dimension);
  new Uint8Array(components.buffer).set(bytes);
  return whole ? components : components.map((bits) => (bits & 0x1ffff) - 0x10000);
}

function filled(rows: number, dimension: number, whole = false): VectorBlocks {
  const vectors = new VectorBlocks(new VectorMemory(), dimension);
  for (let id = 1; id <= rows; id++) {
    const slot = vectors.acquire();
    vectors.write(slot, id, new Uint8Array(randomComponents(dimension, whole).buffer));
    vectors.publish(slot);
  }
  return vectors;
}

/** The same rows in hnswlib's search without an index, as f32. */
function bareOf(vectors: VectorBlocks): hnswlib.BruteforceSearch {
  const bare = new hnswlib.BruteforceSearch('l2', vectors.dimension);
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
  for (const { region, vectorsAddress, live, strideBytes } of vectors.blocks) {
    const sizeBytes = live.count * strideBytes;
    region.arena.kernel.readAll(vectorsAddress, sizeBytes - (sizeBytes % READ_STEP_BYTES));
  }
}

function timeMs(work: () => void): number {
  const startedMs = systemClock.monotonicMs();
  work();
  return systemClock.monotonicMs() - startedMs;
}

/**
 * Milliseconds of each, round by round; they take turns, so that what else the machine does meets all of them alike.
 * Before that they run until V8 has compiled the kernel with its optimising compiler, which it does on another thread.
 */
async function measure(works: readonly (() => void)[], { kernelRounds, kernelWarmUpMs }: Sizes): Promise<number[][]> {
  const untilMs = systemClock.monotonicMs() + kernelWarmUpMs * works.length;
  while (systemClock.monotonicMs() < untilMs) {
    for (const work of works) work();
    await new Promise(setImmediate);
  }
  return Array.from({ length: kernelRounds }, () => works.map(timeMs));
}

async function benchScan(dimension: number, sizes: Sizes): Promise<Row[]> {
  const vectors = filled(sizes.kernelRows, dimension);
  const query = randomComponents(dimension, false);
  const oneABlock = new SlotSet(vectors.shape);
  for (const { firstSlot } of vectors.blocks) oneABlock.add(firstSlot);
  const bare = bareOf(vectors);
  const bareQuery = Array.from(query, toNumber);
  const works = [
    () => read(vectors),
    () => scan(vectors, query, K),
    () => scan(vectors, query, K_LARGE),
    () => scan(vectors, query, K, oneABlock),
    () => bare.searchKnn(bareQuery, K),
  ];
  const rounds = await measure(works, sizes);
  vectors.destroy();
  const [readMs, scanMs, largeMs, sparseMs, bareMs] = [0, 1, 2, 3, 4].map((i) =>
    median(rounds.map((times) => times[i]!)),
  );
  const ratio = (to: number): number => median(rounds.map((times) => times[1]! / times[to]!));
  const of = `${sizes.kernelRows} × ${dimension}`;
  return [
    { part: 'kernel', name: `plain read, ${of}`, value: readMs!, unit: 'ms' },
    { part: 'kernel', name: `scan, ${of}, k ${K}`, value: scanMs!, unit: 'ms' },
    { part: 'kernel', name: `scan / read, ${of}`, value: ratio(0), unit: 'times' },
    { part: 'kernel', name: `hnswlib's search of all rows, ${of}, k ${K}`, value: bareMs!, unit: 'ms' },
    { part: 'kernel', name: `scan / hnswlib's, ${of}`, value: ratio(4), unit: 'times' },
    { part: 'kernel', name: `scan, ${of}, k ${K_LARGE}`, value: largeMs!, unit: 'ms' },
    { part: 'kernel', name: `scan, ${of}, one row a block eligible`, value: sparseMs!, unit: 'ms' },
  ];
}

async function benchWideScan(dimension: number, sizes: Sizes): Promise<Row> {
  const vectors = filled(sizes.kernelRows, dimension, true);
  const query = randomComponents(dimension, true);
  const rounds = await measure([() => scan(vectors, query, K)], sizes);
  vectors.destroy();
  const name = `wide scan, ${sizes.kernelRows} × ${dimension}, k ${K}`;
  return { part: 'kernel', name, value: median(rounds.map(([wideMs]) => wideMs!)), unit: 'ms' };
}

export const benchKernel = (sizes: Sizes): Promise<Row[]> =>
  measured('kernel', sizes.dimensions.length + 2, async (progress) => {
    const rows: Row[] = [];
    for (const dimension of sizes.dimensions) {
      rows.push(...(await benchScan(dimension, sizes)));
      progress.advance(1);
    }
    rows.push(await benchWideScan(WIDE_DIMENSION, sizes));
    progress.advance(1);
    const vector = (): Int32Array => randomComponents(WIDE_DIMENSION, false);
    rows.push(...(await benchThreads(THREADED * sizes.kernelRows, vector, sizes)));
    progress.advance(1);
    return rows;
  });
