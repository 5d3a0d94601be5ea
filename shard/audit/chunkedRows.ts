/**
 * A list of rows of `width` numbers each that grows without moving rows: full chunks never move. Only the first chunk,
 * while it is small, grows by copying, so that a short list costs little.
 */
const CHUNK_ROWS = 1024;
const CHUNK_SHIFT = 10;
const FIRST_CHUNK_ROWS = 4;

export class ChunkedRows<A extends Uint8Array | Float64Array> {
  readonly #chunks: A[] = [];
  #length = 0;

  constructor(
    private readonly allocate: (elements: number) => A,
    private readonly width: number,
  ) {}

  get length(): number {
    return this.#length;
  }

  /** Memory of the rows, for a list that `adopt`s it. */
  get chunks(): readonly A[] {
    return this.#chunks;
  }

  /** Takes over the chunks of a list of `length` rows. This list must be empty. */
  adopt(chunks: readonly A[], length: number): void {
    for (const chunk of chunks) this.#chunks.push(chunk);
    this.#length = length;
  }

  /** Returns a view of the row, which must exist. */
  at(row: number): A {
    return this.#view(row, 1);
  }

  /**
   * Returns a view of `count` consecutive rows from `row` on. `count` is a power of two, and `row` a multiple of it.
   * All exist.
   */
  rows(row: number, count: number): A {
    return this.#view(row, count);
  }

  /** Copies the row to `target` from `to` on. */
  copy(row: number, target: A, to: number): void {
    const { width } = this;
    const chunk = this.#chunks[row >>> CHUNK_SHIFT]!;
    const from = (row % CHUNK_ROWS) * width;
    for (let i = 0; i < width; i++) target[to + i] = chunk[from + i]!;
  }

  set(row: number, values: A): void {
    this.at(row).set(values);
  }

  /** Appends rows, one after another in `values`. */
  append(values: A): void {
    const { width } = this;
    if (values.length === width) {
      this.#open().set(values, (this.#length++ % CHUNK_ROWS) * width);
      return;
    }
    for (let taken = 0; taken < values.length; ) {
      const chunk = this.#open();
      const at = (this.#length % CHUNK_ROWS) * width;
      const piece = values.subarray(taken, taken + chunk.length - at);
      chunk.set(piece, at);
      taken += piece.length;
      this.#length += piece.length / width;
    }
  }

  /** Returns the first row whose `column` is at least `bound`, or the length. The column must ascend. */
  firstNotBelow(column: number, bound: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle)[column]! < bound) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #view(row: number, rows: number): A {
    const from = (row % CHUNK_ROWS) * this.width;
    return this.#chunks[row >>> CHUNK_SHIFT]!.subarray(from, from + rows * this.width) as A;
  }

  /** Returns the last chunk, with room for at least one row. */
  #open(): A {
    const index = this.#length >>> CHUNK_SHIFT;
    const used = (this.#length % CHUNK_ROWS) * this.width;
    const chunk = this.#chunks[index];
    if (chunk !== undefined && chunk.length > used) return chunk;
    const rows = index > 0 ? CHUNK_ROWS : Math.max(FIRST_CHUNK_ROWS, (2 * used) / this.width);
    const larger = this.allocate(rows * this.width);
    if (chunk !== undefined) larger.set(chunk);
    this.#chunks[index] = larger;
    return larger;
  }
}
