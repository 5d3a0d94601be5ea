/**
 * k-means on a sample: k-means++ seeds (Arthur and Vassilvitskii, 2007), then Lloyd's iterations with exact assignment.
 * Deterministic: the seed is fixed. Each iteration costs rows × lists × dimension / 10 ns.
 */
import type { SeededNumbers } from '../../../shared/seededNumbers.js';
import type { BuildProgress } from '../progress.js';
import { CentroidAssigner } from './centroidAssigner.js';
import { groupsOf, type WorkMemory } from './workMemory.js';

export const ITERATIONS = 20;
/** Iterations end when fewer than one in this many rows changes its list. */
const SETTLED = 1000;
/** Rows between two checks for cancellation. */
const CUT_AT_ONCE = 1024;

/** Training rows, as a table in the memory of a build. */
export interface Sample {
  readonly table: number;
  readonly count: number;
  /** Shift that suits nearly all rows; the others are clipped to the range. */
  readonly shift: number;
}

/**
 * Computes the centroids of `lists` lists: seeds by k-means++, then Lloyd's iterations, with means rounded to whole
 * components. Advances `progress` by the rows of the sample, once for the seeds and once per iteration.
 */
export class KMeans {
  readonly #assigner: CentroidAssigner;

  constructor(
    private readonly memory: WorkMemory,
    private readonly sample: Sample,
    private readonly lists: number,
    private readonly numbers: SeededNumbers,
    private readonly progress: BuildProgress,
  ) {
    this.#assigner = new CentroidAssigner(memory, lists, sample.shift);
  }

  run(): CentroidAssigner {
    const { memory, lists, numbers, progress } = this;
    const { count } = this.sample;
    const assigner = this.#assigner;
    const { kernel, strideBytes } = memory;
    this.#drawSeeds();
    const assigned = memory.words(count).byteOffset;
    const components = (lists * strideBytes) / 4;
    // Allocate first, since the buffer changes when the memory grows.
    const sumsAddress = memory.allocate(8 * components);
    const sums = new BigInt64Array(memory.buffer, sumsAddress, components);
    const counts = memory.words(lists);
    for (let iteration = 0; iteration < ITERATIONS; iteration++) {
      assigner.cut();
      const changed = this.#assignSample(assigned, sums.fill(0n), counts.fill(0));
      // A centroid without rows does not move.
      kernel.moveToMeans(sums.byteOffset, counts.byteOffset, lists, strideBytes, assigner.centroids);
      // Restart an empty list at a random row. If all rows are equal it stays empty.
      if (iteration + 1 < ITERATIONS)
        for (let list = 0; list < lists; list++) if (counts[list] === 0) this.#moveToRow(list, numbers.below(count));
      if (changed * SETTLED < count) {
        progress.advance((ITERATIONS - iteration - 1) * count);
        break;
      }
    }
    assigner.cut();
    return assigner;
  }

  /** Draws each seed with a probability proportional to its squared distance from the nearest earlier seed. */
  #drawSeeds(): void {
    const { lists, numbers, progress } = this;
    const { table, count, shift } = this.sample;
    const { kernel, strideBytes, codes } = this.memory;
    const { codeBytes, componentMax } = codes;
    const rowCodes = this.memory.allocateCodes(count);
    for (let first = 0; first < count; first += CUT_AT_ONCE) {
      const [from, to] = [table + first * strideBytes, rowCodes + first * codeBytes];
      kernel.cutRows(from, strideBytes, Math.min(CUT_AT_ONCE, count - first), to, codeBytes, shift, componentMax);
      progress.advance(0);
    }
    const nearest = this.memory.words(groupsOf(count)).fill(0xffff_ffff).byteOffset;
    const totals = this.memory.words(groupsOf(1)).byteOffset;
    let row = numbers.below(count);
    for (let list = 0; list < lists; list++) {
      this.#moveToRow(list, row);
      const sum = kernel.lowerDistancesToSeed(rowCodes, count, codeBytes, rowCodes + row * codeBytes, nearest, totals);
      // The sum is 0 if every row has the code of a seed.
      row = sum > 0 ? kernel.rowAtSum(nearest, count, numbers.next() * sum) : numbers.below(count);
      progress.advance(Math.floor(((list + 1) * count) / lists) - Math.floor((list * count) / lists));
    }
  }

  /** Assigns the sample to lists and adds its rows to their sums; returns how many rows changed their list. */
  #assignSample(assigned: number, sums: BigInt64Array, counts: Uint32Array): number {
    const { table, count } = this.sample;
    const { kernel, strideBytes } = this.memory;
    const { rowsAtOnce } = this.#assigner;
    let changed = 0;
    for (let first = 0; first < count; first += rowsAtOnce) {
      const rows = Math.min(rowsAtOnce, count - first);
      const [from, to] = [table + first * strideBytes, assigned + 4 * first];
      changed += this.#assigner.assign(from, rows, to);
      kernel.addToSums(from, rows, strideBytes, to, sums.byteOffset, counts.byteOffset);
      this.progress.advance(rows);
    }
    return changed;
  }

  #moveToRow(list: number, row: number): void {
    this.memory.row(this.#assigner.centroids, list).set(this.memory.row(this.sample.table, row));
  }
}
