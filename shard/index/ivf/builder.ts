/**
 * Builds an inverted file (Sivic and Zisserman, 2003; Jégou, Douze and Schmid, 2011): k-means over a sample of the rows
 * gives the centroids, and each row goes to the list of the nearest. On a base, only rows without a list are assigned.
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
/** Rows of the sample per list. More do not improve the lists; fewer than the minimum make them poor. */
const SAMPLE_PER_LIST = 256;
const SAMPLE_PER_LIST_MIN = 32;
/** Products of a row of the sample, a list and a dimension: about 0.6 s per iteration. */
const SAMPLE_WORK = 8e9;
const SAMPLE_BYTES = 2 ** 30;
/** Share of the sample that may be clipped to the range of codes. */
const OUTLIERS = 1 / 100;
/** Rows between two checks for cancellation. */
const COPIED_AT_ONCE = 1024;

export const ivfBuilder: IndexBuilder = {
  async build(order) {
    const { rows, path, base } = order;
    const memory = new WorkMemory(rows.dimension);
    const built = base === undefined ? fromScratch(memory, order) : await extended(memory, order, base);
    const { assigner, assigned, usualShift } = built;
    const kept = base === undefined ? dropEmpty(assigned, assigner.count) : everyList(assigner.count);
    const header = { dimension: rows.dimension, lists: kept.length, count: rows.count, usualShift };
    await writeIvfPayload(path, header, (list) => memory.row(assigner.centroids, kept[list]!), assigned);
    return { leftOut: [] };
  },
};

interface Built {
  readonly assigner: CentroidAssigner;
  /** List of each ordinal. */
  readonly assigned: Uint32Array;
  readonly usualShift: number;
}

function fromScratch(memory: WorkMemory, order: BuildOrder): Built {
  const { rows, parameters, progress } = order;
  const live = liveOrdinals(rows);
  const lists = listsFor(live.length, parameters);
  const numbers = new SeededNumbers(SEED);
  const sampled = numbers.sample(live, sampleSize(live.length, lists, memory));
  progress.expect(sampled.length * (1 + ITERATIONS) + live.length);
  const sample = copySample(memory, rows, sampled, progress);
  const assigner =
    sample.count === 0
      ? new CentroidAssigner(memory, 1, sample.shift)
      : new KMeans(memory, sample, lists, numbers, progress).run();
  const assigned = new Uint32Array(rows.count).fill(NO_LIST);
  assignRows(memory, assigner, order, live, assigned);
  return { assigner, assigned, usualShift: sample.shift };
}

async function extended(memory: WorkMemory, order: BuildOrder, base: BuildBase): Promise<Built> {
  const { rows, progress } = order;
  const payload = await readIvfPayload(base.path, rows.dimension);
  const { dimension, lists, count, centroids, usualShift } = payload;
  if (count !== base.count) throw new Error(`an IVF payload of ${count} rows, not ${base.count}`);
  const assigner = new CentroidAssigner(memory, lists, usualShift);
  for (let list = 0; list < lists; list++)
    memory.row(assigner.centroids, list).set(centroids.subarray(list * dimension, (list + 1) * dimension));
  assigner.cut();
  const assigned = new Uint32Array(rows.count).fill(NO_LIST);
  for (let ordinal = 0; ordinal < count; ordinal++)
    if (rows.isLive(ordinal)) assigned[ordinal] = payload.assigned[ordinal]!;
  const added = liveOrdinals(rows).filter((ordinal) => assigned[ordinal] === NO_LIST);
  progress.expect(added.length);
  assignRows(memory, assigner, order, added, assigned);
  return { assigner, assigned, usualShift };
}

/** Returns the number of lists for so many rows: as requested, by default the square root of the rows. */
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
  return Math.min(rows, Math.max(lists, Math.min(wanted, Math.floor(SAMPLE_BYTES / strideBytes))));
}

function copySample(memory: WorkMemory, rows: BuildRows, ordinals: Uint32Array, progress: BuildProgress): Sample {
  const { kernel, strideBytes, codes } = memory;
  const table = memory.allocate(ordinals.length * strideBytes);
  const largest = new Float64Array(ordinals.length);
  ordinals.forEach((ordinal, at) => {
    memory.row(table, at).set(rows.components(ordinal));
    largest[at] = kernel.largestComponent(table + at * strideBytes, strideBytes) >>> 0;
    if (at % COPIED_AT_ONCE === 0) progress.advance(0);
  });
  const usual = largest.sort()[Math.floor((largest.length - 1) * (1 - OUTLIERS))] ?? 0;
  return { table, count: ordinals.length, shift: codes.shiftFor(2 * usual) };
}

function assignRows(
  memory: WorkMemory,
  assigner: CentroidAssigner,
  { rows, progress }: BuildOrder,
  ordinals: Uint32Array,
  assigned: Uint32Array,
): void {
  const { rowsAtOnce } = assigner;
  const most = Math.min(rowsAtOnce, ordinals.length);
  const table = memory.allocate(most * memory.strideBytes);
  const lists = memory.words(most);
  for (let first = 0; first < ordinals.length; first += rowsAtOnce) {
    const batch = ordinals.subarray(first, first + rowsAtOnce);
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

/** Renumbers the lists that have rows and keeps their order, so that the first of equally near lists stays first. */
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
