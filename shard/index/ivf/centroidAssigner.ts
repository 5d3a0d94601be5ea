import { groupsOf, type WorkMemory } from './workMemory.js';

const NUMBER_BYTES = 8;

/** Products of a row, a list and a dimension: about 2 ms of assigning. */
const ASSIGNED_AT_ONCE = 2e7;

/** Finds the nearest centroid of rows, in the memory of a build; see `kernel/assembly/assign.ts`. */
export class CentroidAssigner {
  /** Address of the centroids, a table of rows. Call `cut` after a change. */
  readonly centroids: number;
  readonly #order: Uint32Array;
  readonly #codes: number;
  #largestComponent = 0;

  constructor(
    private readonly memory: WorkMemory,
    readonly count: number,
    private readonly shift: number,
  ) {
    const { kernel, codes, strideBytes, dimension } = memory;
    this.centroids = memory.allocate(count * strideBytes);
    this.#codes = memory.allocateCodes(count);
    const numbers = memory.allocate(count * NUMBER_BYTES);
    new Float64Array(memory.buffer, numbers, count).forEach((_, list, all) => {
      all[list] = list;
    });
    const scan = memory.allocate(kernel.scanBytes(1, strideBytes));
    kernel.beginScan(scan, 1, strideBytes);
    const query = memory.allocate(codes.codeBytes);
    const totals = memory.allocate(4 * groupsOf(count));
    const cutting = [codes.codeBytes, shift, codes.componentMax, dimension];
    const order = [scan, strideBytes, ...cutting, count, this.centroids, numbers, this.#codes, query, totals];
    this.#order = memory.words(order.length);
    this.#order.set(order);
  }

  cut(): void {
    const { kernel, codes, strideBytes } = this.memory;
    const { count, centroids } = this;
    kernel.cutRows(centroids, strideBytes, count, this.#codes, codes.codeBytes, this.shift, codes.componentMax);
    this.#largestComponent = kernel.largestComponent(centroids, count * strideBytes) >>> 0;
  }

  /**
   * Writes the list of each row of `table` to `assigned` (both are addresses); returns how many changed. Takes about
   * count × dimension / 10 ns a row.
   */
  assign(table: number, rows: number, assigned: number): number {
    const { kernel, strideBytes, narrowReach } = this.memory;
    const largest = kernel.largestComponent(table, rows * strideBytes) >>> 0;
    const wide = largest + this.#largestComponent > narrowReach;
    return kernel.assignRows(this.#order.byteOffset, table, rows, assigned, wide ? 1 : 0);
  }

  /** Number of rows to assign at once. */
  get rowsAtOnce(): number {
    return Math.max(1, Math.floor(ASSIGNED_AT_ONCE / (this.count * this.memory.dimension)));
  }
}
