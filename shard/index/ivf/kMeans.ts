import type { Progress } from '../build/progress.js';
import { ListAssigner } from './listAssigner.js';
import type { SeededNumbers } from './seededNumbers.js';
import { groupsOf, type WorkMemory } from './workMemory.js';

export const ITERATIONS = 20;
/** No more iterations when fewer than one in so many rows changed its list. */
const SETTLED = 1000;
/** Rows between two looks at whether the build was cancelled. */
const CUT_AT_ONCE = 1024;

/** Rows to learn from, as a table in the memory of a build. */
export interface Sample {
  readonly table: number;
  readonly count: number;
  /** What nearly all of them can be cut with; the others are cut to the ends of the range. */
  readonly shift: number;
}

/**
 * Centroids for `lists` lists: seeds as k-means++ draws them, then Lloyd's iterations, with means rounded to whole
 * components. Advances `progress` by the rows of the sample for the seeds and as much for each of ITERATIONS.
 */
export function kMeans(
  memory: WorkMemory,
  sample: Sample,
  lists: number,
  numbers: SeededNumbers,
  progress: Progress,
): ListAssigner {
  const assigner = new ListAssigner(memory, lists, sample.shift);
  const copy = (row: number, list: number): void =>
    memory.row(assigner.centroids, list).set(memory.row(sample.table, row));
  drawSeeds(memory, sample, lists, numbers, progress, copy);
  const assigned = memory.words(sample.count);
  const means = new Means(memory, lists);
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    assigner.cut();
    const changed = assignSample(memory, assigner, sample, assigned.byteOffset, means, progress);
    means.move(assigner.centroids);
    // A list that lost its rows begins anew at one of them; where all rows are equal it stays empty.
    if (iteration + 1 < ITERATIONS) for (const list of means.empty()) copy(numbers.below(sample.count), list);
    if (changed * SETTLED < sample.count) {
      progress.advance((ITERATIONS - iteration - 1) * sample.count);
      break;
    }
  }
  assigner.cut();
  return assigner;
}

/** Each seed is a row drawn with a probability that grows with its squared distance from the seeds before it. */
function drawSeeds(
  memory: WorkMemory,
  { table, count, shift }: Sample,
  lists: number,
  numbers: SeededNumbers,
  progress: Progress,
  take: (row: number, list: number) => void,
): void {
  const { kernel, strideBytes, codes } = memory;
  const { codeBytes, componentMax } = codes;
  const rowCodes = memory.allocateCodes(count);
  for (let first = 0; first < count; first += CUT_AT_ONCE) {
    const [from, to] = [table + first * strideBytes, rowCodes + first * codeBytes];
    kernel.cutRows(from, strideBytes, Math.min(CUT_AT_ONCE, count - first), to, codeBytes, shift, componentMax);
    progress.advance(0);
  }
  const nearest = memory.words(groupsOf(count)).fill(0xffff_ffff).byteOffset;
  const totals = memory.words(groupsOf(1)).byteOffset;
  let row = numbers.below(count);
  for (let list = 0; list < lists; list++) {
    take(row, list);
    const sum = kernel.lowerToSeed(rowCodes, count, codeBytes, rowCodes + row * codeBytes, nearest, totals);
    // 0 where no row differs from all seeds by more than is cut off.
    row = sum > 0 ? kernel.rowAtSum(nearest, count, numbers.next() * sum) : numbers.below(count);
    progress.advance(Math.floor(((list + 1) * count) / lists) - Math.floor((list * count) / lists));
  }
}

/** Returns how many rows have another list than before. */
function assignSample(
  memory: WorkMemory,
  assigner: ListAssigner,
  { table, count }: Sample,
  assigned: number,
  means: Means,
  progress: Progress,
): number {
  const { rowsAtOnce } = assigner;
  means.clear();
  let changed = 0;
  for (let first = 0; first < count; first += rowsAtOnce) {
    const rows = Math.min(rowsAtOnce, count - first);
    const [from, to] = [table + first * memory.strideBytes, assigned + 4 * first];
    changed += assigner.assign(from, rows, to);
    means.add(from, rows, to);
    progress.advance(rows);
  }
  return changed;
}

/** The sums and counts that the means of lists are made of. */
class Means {
  readonly #sums: BigInt64Array;
  readonly #counts: Uint32Array;

  constructor(
    private readonly memory: WorkMemory,
    private readonly lists: number,
  ) {
    const components = (lists * memory.strideBytes) / 4;
    const sums = memory.allocate(8 * components);
    this.#sums = new BigInt64Array(memory.buffer, sums, components);
    this.#counts = memory.words(lists);
  }

  clear(): void {
    this.#sums.fill(0n);
    this.#counts.fill(0);
  }

  /** Adds rows of a table; both are addresses. */
  add(table: number, rows: number, assigned: number): void {
    const { kernel, strideBytes } = this.memory;
    kernel.addToSums(table, rows, strideBytes, assigned, this.#sums.byteOffset, this.#counts.byteOffset);
  }

  /** Puts the mean of its rows in the place of each centroid; one without rows stays. */
  move(centroids: number): void {
    const { kernel, strideBytes } = this.memory;
    kernel.moveToMeans(this.#sums.byteOffset, this.#counts.byteOffset, this.lists, strideBytes, centroids);
  }

  /** Lists without rows. */
  empty(): number[] {
    return [...this.#counts.keys()].filter((list) => this.#counts[list] === 0);
  }
}
