import { groupsOf, type WorkMemory } from './workMemory.js';

/** The number of a list as f64, since the kernel expects ids in that form. */
const LIST_NUMBER_BYTES = 8;

/** Largest rows × lists × dimension of one call: about 2 ms. */
const WORK_PER_CALL = 2e7;

/** Finds the nearest centroid of each row, in the memory of a build; see `kernel/assembly/assign.ts`. */
export class CentroidAssigner {
  /** Address of the centroids, one row each. Call `encodeCentroids` after they change. */
  readonly centroids: number;
  /** Arguments of `assignRows`: see `Lists` in `assign.ts`. */
  readonly #arguments: Uint32Array;
  /** Address of the codes of the centroids. */
  readonly #codes: number;
  #largestComponent = 0;

  /** `shift`: from components to codes; see `kernel/assembly/cut.ts`. */
  constructor(
    private readonly memory: WorkMemory,
    readonly lists: number,
    private readonly shift: number,
  ) {
    const { kernel, codes, strideBytes, dimension } = memory;
    this.centroids = memory.allocate(lists * strideBytes);
    this.#codes = memory.allocateCodes(lists);
    const numbers = memory.allocate(lists * LIST_NUMBER_BYTES);
    const numbering = new Float64Array(memory.buffer, numbers, lists);
    for (let list = 0; list < lists; list++) numbering[list] = list;
    const scan = memory.allocate(kernel.scanBytes(1, strideBytes));
    kernel.beginScan(scan, 1, strideBytes);
    const query = memory.allocate(codes.codeBytes);
    const totals = memory.allocate(4 * groupsOf(lists));
    const cutting = [codes.codeBytes, shift, codes.componentMax, dimension];
    const values = [scan, strideBytes, ...cutting, lists, this.centroids, numbers, this.#codes, query, totals];
    this.#arguments = memory.words(values.length);
    this.#arguments.set(values);
  }

  /** Computes the codes of the centroids. Call it after they change. */
  encodeCentroids(): void {
    const { kernel, codes, strideBytes } = this.memory;
    const { lists, centroids } = this;
    kernel.cutRows(centroids, strideBytes, lists, this.#codes, codes.codeBytes, this.shift, codes.componentMax);
    this.#largestComponent = kernel.largestComponent(centroids, lists * strideBytes) >>> 0;
  }

  /**
   * Writes the number of each row's nearest list to `assigned`. Returns how many numbers there changed. `table` is the
   * address of the rows, `assigned` that of a u32 for each. Takes about lists × dimension / 10 ns a row.
   */
  assign(table: number, rows: number, assigned: number): number {
    const { kernel, strideBytes, narrowReach } = this.memory;
    const largest = kernel.largestComponent(table, rows * strideBytes) >>> 0;
    const wide = largest + this.#largestComponent > narrowReach;
    return kernel.assignRows(this.#arguments.byteOffset, table, rows, assigned, wide ? 1 : 0);
  }

  /** Rows per call of `assign`, so that a call takes about 2 ms. */
  get rowsPerCall(): number {
    return Math.max(1, Math.floor(WORK_PER_CALL / (this.lists * this.memory.dimension)));
  }
}
