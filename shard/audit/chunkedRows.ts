/**
 * A list of rows of `width` numbers each that grows without moving what it holds: full chunks stay where they are. Only
 * the first chunk, while it is small, is doubled by copying, so that a short list costs next to nothing.
 */
const CHUNK_ROWS = 4096;
const CHUNK_SHIFT = 12;
const FIRST_CHUNK_ROWS = 4;

type Numbers = Uint8Array | Float64Array;

export class ChunkedRows<A extends Numbers> {
  readonly #chunks: A[] = [];
  #length = 0;

  constructor(
    private readonly allocate: (elements: number) => A,
    private readonly width: number,
  ) {}

  get length(): number {
    return this.#length;
  }

  /** What holds the rows, as it is: for a list that `adopt`s it. */
  get chunks(): readonly A[] {
    return this.#chunks;
  }

  /** Takes over the chunks of a list of `length` rows, while it has none of its own. */
  adopt(chunks: readonly A[], length: number): void {
    this.#chunks.push(...chunks);
    this.#length = length;
  }

  /** A view of the row. The row exists. */
  at(row: number): A {
    return this.#view(row, 1);
  }

  /** A view of rows `2 * index` and `2 * index + 1`, which lie side by side. Both exist. */
  pair(index: number): A {
    return this.#view(2 * index, 2);
  }

  set(row: number, values: A): void {
    this.at(row).set(values);
  }

  /** Appends one row or several, one after another in `values`. */
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

  /** Appends a row of one number; rows have no more. */
  push(value: number): void {
    this.#open()[this.#length++ % CHUNK_ROWS] = value;
  }

  #view(row: number, rows: number): A {
    const from = (row % CHUNK_ROWS) * this.width;
    const chunk = this.#chunks[row >>> CHUNK_SHIFT] as A;
    return chunk.subarray(from, from + rows * this.width) as A;
  }

  /** The last chunk, which can take a row at least; made where there is none. */
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
