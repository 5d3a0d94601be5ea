/**
 * Builds an inverted file (Sivic and Zisserman, 2003; Jégou, Douze and Schmid, 2011). The centroids come from k-means over
 * a sample of the rows. Each row is put in the list of its nearest centroid. A build that extends a base keeps the
 * centroids, and assigns only rows without a list.
 */
import type { IndexParameters } from '../../../shared/model/indexSpec.js';
import { SeededNumbers } from '../../../shared/seededNumbers.js';
import type { BuildBase, BuildOrder, BuildRows, IndexBuilder } from '../kind.js';
import type { BuildProgress } from '../progress.js';
import { CentroidAssigner } from './centroidAssigner.js';
import { ITERATIONS, KMeans, type Sample } from './kMeans.js';
import { NO_LIST, readIvfPayload, writeIvfPayload } from './payload.js';
import { WorkMemory } from './workMemory.js';

const SEED = 0x1f5eed;
const LISTS_MIN = 16;
/** Rows of the sample per list: more do not improve the lists, and fewer than the minimum make them poor. */
const SAMPLE_PER_LIST = 256;
const SAMPLE_PER_LIST_MIN = 32;
/** Largest sampled rows × lists × dimension, unless the minimum needs more: about 0.8 s per iteration. */
const SAMPLE_WORK = 8e9;
const SAMPLE_BYTES_MAX = 2 ** 30;
/** Share of the sample that may have clipped codes. */
const CLIPPED_PART = 1 / 100;
/** Rows copied between two checks for cancellation. */
const COPIED_AT_ONCE = 1024;

export const ivfBuilder: IndexBuilder = {
  async build(order) {
    const { rows, base } = order;
    const memory = new WorkMemory(rows.dimension);
    const built = base === undefined ? fromScratch(memory, order) : await extended(memory, order, base);
    const { assigner, assigned, usualShift } = built;
    const kept = base === undefined ? dropEmpty(assigned, assigner.lists) : everyList(assigner.lists);
    const header = { dimension: rows.dimension, lists: kept.length, count: rows.count, usualShift };
    await writeIvfPayload(order, header, (list) => memory.row(assigner.centroids, kept[list]!), assigned);
    return { leftOut: [] };
  },
};

interface Built {
  readonly assigner: CentroidAssigner;
  /** List of each ordinal; NO_LIST for rows that are not live. */
  readonly assigned: Uint32Array;
  /** Shift from components to codes that the sample needed. */
  readonly usualShift: number;
}

function fromScratch(memory: WorkMemory, order: BuildOrder): Built {
  const { rows, parameters, progress } = order;
  const live = liveOrdinals(rows);
  const lists = listsFor(live.length, parameters);
  const numbers = new SeededNumbers(SEED);
  const sampled = numbers.sample(live, sampleSize(live.length, lists, memory));
  progress.setTotal(sampled.length * (1 + ITERATIONS) + live.length);
  const sample = copySample(memory, rows, sampled, progress);
  const assigner =
    sample.count === 0
      ? new CentroidAssigner(memory, 1, sample.shift)
      : new KMeans(sample, lists, numbers, progress).run();
  const assigned = new Uint32Array(rows.count).fill(NO_LIST);
  assignRows(memory, assigner, order, { ordinals: live, assigned });
  return { assigner, assigned, usualShift: sample.shift };
}

async function extended(memory: WorkMemory, order: BuildOrder, base: BuildBase): Promise<Built> {
  const { rows, progress } = order;
  const payload = await readIvfPayload(base, rows.dimension);
  const { dimension, lists, count, centroids, usualShift } = payload;
  if (count !== base.count) throw new Error(`an IVF payload of ${count} rows, not ${base.count}`);
  const assigner = new CentroidAssigner(memory, lists, usualShift);
  for (let list = 0; list < lists; list++)
    memory.row(assigner.centroids, list).set(centroids.subarray(list * dimension, (list + 1) * dimension));
  assigner.encodeCentroids();
  const assigned = new Uint32Array(rows.count).fill(NO_LIST);
  for (let ordinal = 0; ordinal < count; ordinal++)
    if (rows.isLive(ordinal)) assigned[ordinal] = payload.assigned[ordinal]!;
  const added = liveOrdinals(rows).filter((ordinal) => assigned[ordinal] === NO_LIST);
  progress.setTotal(added.length);
  assignRows(memory, assigner, order, { ordinals: added, assigned });
  return { assigner, assigned, usualShift };
}

/** Returns the number of lists for a number of rows: as requested, by default its square root, at most one per row. */
function listsFor(rows: number, { nList }: IndexParameters): number {
  const wanted = nList ?? Math.max(LISTS_MIN, Math.round(Math.sqrt(rows)));
  return Math.max(1, Math.min(wanted, rows));
}

function liveOrdinals(rows: BuildRows): Uint32Array {
  const live = new Uint32Array(rows.count);
  let count = 0;
  for (let ordinal = 0; ordinal < rows.count; ordinal++) if (rows.isLive(ordinal)) live[count++] = ordinal;
  return live.subarray(0, count);
}

function sampleSize(rows: number, lists: number, { dimension, strideBytes }: WorkMemory): number {
  const affordable = Math.floor(SAMPLE_WORK / (lists * dimension));
  const wanted = Math.max(SAMPLE_PER_LIST_MIN * lists, Math.min(SAMPLE_PER_LIST * lists, affordable));
  return Math.min(rows, Math.max(lists, Math.min(wanted, Math.floor(SAMPLE_BYTES_MAX / strideBytes))));
}

function copySample(memory: WorkMemory, rows: BuildRows, ordinals: Uint32Array, progress: BuildProgress): Sample {
  const { kernel, strideBytes, codes } = memory;
  const table = memory.allocate(ordinals.length * strideBytes);
  const largest = new Float64Array(ordinals.length);
  ordinals.forEach((ordinal, at) => {
    memory.row(table, at).set(rows.components(ordinal));
    largest[at] = kernel.largestComponent(table + at * strideBytes, strideBytes) >>> 0;
    if (at % COPIED_AT_ONCE === 0) progress.obey();
  });
  const usual = largest.sort()[Math.floor((largest.length - 1) * (1 - CLIPPED_PART))] ?? 0;
  return { memory, table, count: ordinals.length, shift: codes.shiftFor(2 * usual) };
}

/** Writes the nearest list of each row of `ordinals` to `assigned`. */
function assignRows(
  memory: WorkMemory,
  assigner: CentroidAssigner,
  { rows, progress }: BuildOrder,
  { ordinals, assigned }: { readonly ordinals: Uint32Array; readonly assigned: Uint32Array },
): void {
  const { rowsPerCall } = assigner;
  const most = Math.min(rowsPerCall, ordinals.length);
  const table = memory.allocate(most * memory.strideBytes);
  const lists = memory.words(most);
  for (let first = 0; first < ordinals.length; first += rowsPerCall) {
    const batch = ordinals.subarray(first, first + rowsPerCall);
    batch.forEach((ordinal, at) => {
      memory.row(table, at).set(rows.components(ordinal));
    });
    assigner.assign(table, batch.length, lists.byteOffset);
    batch.forEach((ordinal, at) => {
      assigned[ordinal] = lists[at]!;
    });
    progress.advance(batch.length);
  }
}

const everyList = (count: number): Uint32Array => Uint32Array.from({ length: count }, (_, list) => list);

/**
 * Renumbers the lists that have rows, in place, and returns their former numbers. It keeps their order, so that the first
 * of equally near lists stays first.
 */
function dropEmpty(assigned: Uint32Array, count: number): Uint32Array {
  const isUsed = new Uint8Array(count);
  for (const list of assigned) if (list !== NO_LIST) isUsed[list] = 1;
  const kept = everyList(count).filter((list) => isUsed[list] === 1);
  if (kept.length === 0) return Uint32Array.of(0);
  const renumbered = new Uint32Array(count);
  kept.forEach((list, number) => {
    renumbered[list] = number;
  });
  assigned.forEach((list, ordinal) => {
    if (list !== NO_LIST) assigned[ordinal] = renumbered[list]!;
  });
  return kept;
}
