/**
 * k-means on a sample of rows: starting centroids by k-means++ (Arthur and Vassilvitskii, 2007), then Lloyd's iterations
 * with exact assignment. Deterministic for given `numbers`. Each iteration takes about rows × lists × dimension / 10 ns.
 */
import type { SeededNumbers } from '../../../shared/seededNumbers.js';
import type { BuildProgress } from '../progress.js';
import { CentroidAssigner } from './centroidAssigner.js';
import { groupsOf, type WorkMemory } from './workMemory.js';

export const ITERATIONS = 20;
/** Iterations stop when fewer than one row in this many changes its list. */
const SETTLED_ONE_IN = 1000;
/** Rows encoded between two checks for cancellation. */
const ENCODED_AT_ONCE = 1024;

/** Training rows in the memory of a build. */
export interface Sample {
  readonly memory: WorkMemory;
  /** Address of the rows. */
  readonly table: number;
  readonly count: number;
  /** Right shift from components to codes. Rows too large for it have clipped codes; see `kernel/assembly/cut.ts`. */
  readonly shift: number;
}

/**
 * Computes the centroids of `lists` lists. Means are rounded to whole components. Advances `progress` by the rows of the
 * sample, once for the starting centroids and once per iteration.
 */
export class KMeans {
  readonly #assigner: CentroidAssigner;

  constructor(
    private readonly sample: Sample,
    private readonly lists: number,
    private readonly numbers: SeededNumbers,
    private readonly progress: BuildProgress,
  ) {
    this.#assigner = new CentroidAssigner(sample.memory, lists, sample.shift);
  }

  /** Returns an assigner to the centroids. */
  run(): CentroidAssigner {
    const { lists, numbers, progress } = this;
    const { memory, count } = this.sample;
    const assigner = this.#assigner;
    const { kernel, strideBytes } = memory;
    this.#drawStart();
    const assigned = memory.words(count).byteOffset;
    const components = (lists * strideBytes) / 4;
    // Allocate before reading `memory.buffer`: growth replaces it. Earlier views stay valid, since the memory is shared.
    const sumsAddress = memory.allocate(8 * components);
    const sums = new BigInt64Array(memory.buffer, sumsAddress, components);
    const counts = memory.words(lists);
    for (let iteration = 0; iteration < ITERATIONS; iteration++) {
      assigner.encodeCentroids();
      const changed = this.#assignSample(assigned, sums.fill(0n), counts.fill(0));
      // A centroid without rows does not move.
      kernel.moveToMeans(sums.byteOffset, counts.byteOffset, lists, strideBytes, assigner.centroids);
      // Restart an empty list at a random row. If all rows are equal it stays empty.
      if (iteration + 1 < ITERATIONS)
        for (let list = 0; list < lists; list++) if (counts[list] === 0) this.#moveToRow(list, numbers.below(count));
      if (changed * SETTLED_ONE_IN < count) {
        progress.advance((ITERATIONS - iteration - 1) * count);
        break;
      }
    }
    assigner.encodeCentroids();
    return assigner;
  }

  /**
   * Draws rows as starting centroids: the first one evenly, each other one with a probability proportional to its
   * squared distance from the nearest earlier one. Distances are those of codes.
   */
  #drawStart(): void {
    const { lists, numbers, progress } = this;
    const { memory, table, count, shift } = this.sample;
    const { kernel, strideBytes, codes } = memory;
    const { codeBytes, componentMax } = codes;
    const rowCodes = memory.allocateCodes(count);
    for (let first = 0; first < count; first += ENCODED_AT_ONCE) {
      const [from, to] = [table + first * strideBytes, rowCodes + first * codeBytes];
      kernel.cutRows(from, strideBytes, Math.min(ENCODED_AT_ONCE, count - first), to, codeBytes, shift, componentMax);
      progress.obey();
    }
    const nearest = memory.words(groupsOf(count)).fill(0xffff_ffff).byteOffset;
    const totals = memory.words(groupsOf(1)).byteOffset;
    let row = numbers.below(count);
    for (let list = 0; list < lists; list++) {
      this.#moveToRow(list, row);
      const sum = kernel.lowerDistancesToSeed(rowCodes, count, codeBytes, rowCodes + row * codeBytes, nearest, totals);
      // The sum is 0 if every row has the code of a drawn one.
      row = sum > 0 ? kernel.rowAtSum(nearest, count, numbers.next() * sum) : numbers.below(count);
      progress.advance(Math.floor(((list + 1) * count) / lists) - Math.floor((list * count) / lists));
    }
  }

  /** Assigns the rows of the sample to lists, and adds them to the sums of these; returns how many changed their list. */
  #assignSample(assigned: number, sums: BigInt64Array, counts: Uint32Array): number {
    const { memory, table, count } = this.sample;
    const { kernel, strideBytes } = memory;
    const { rowsPerCall } = this.#assigner;
    let changed = 0;
    for (let first = 0; first < count; first += rowsPerCall) {
      const rows = Math.min(rowsPerCall, count - first);
      const [from, to] = [table + first * strideBytes, assigned + 4 * first];
      changed += this.#assigner.assign(from, rows, to);
      kernel.addToSums(from, rows, strideBytes, to, sums.byteOffset, counts.byteOffset);
      this.progress.advance(rows);
    }
    return changed;
  }

  #moveToRow(list: number, row: number): void {
    const { memory, table } = this.sample;
    memory.row(this.#assigner.centroids, list).set(memory.row(table, row));
  }
}
