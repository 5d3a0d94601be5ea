/**
 * Numbers by slot or by another index from 0 on, in typed arrays that are never moved: 4 or 8 bytes a number, where a
 * JavaScript array takes 8 and grows by halves. Only the first chunk, while it is small, is doubled by copying. Chunks in
 * which every number is the fill take no memory.
 */
const CHUNK_SHIFT = 12;
const CHUNK = 1 << CHUNK_SHIFT;
const FIRST_CHUNK = 4;

type Numbers = Uint32Array | Float64Array;

export class Column {
  readonly #chunks: (Numbers | undefined)[] = [];
  #length = 0;

  /** `fill`: what is read where nothing was written. */
  private constructor(
    private readonly allocate: (count: number) => Numbers,
    private readonly fill: number,
  ) {}

  static uint32(fill = 0): Column {
    return new Column((count) => new Uint32Array(count), fill);
  }

  static float64(fill = 0): Column {
    return new Column((count) => new Float64Array(count), fill);
  }

  /** One more than the highest index written. */
  get length(): number {
    return this.#length;
  }

  get(index: number): number {
    // Beyond 32 bits an index would be taken for another one.
    if (index >= this.#length) return this.fill;
    return this.#chunks[index >>> CHUNK_SHIFT]?.[index & (CHUNK - 1)] ?? this.fill;
  }

  set(index: number, value: number): void {
    if (index >= this.#length) this.#length = index + 1;
    const at = index & (CHUNK - 1);
    const chunk = this.#chunks[index >>> CHUNK_SHIFT];
    if (chunk !== undefined && at < chunk.length) chunk[at] = value;
    else if (value !== this.fill) this.#grow(index >>> CHUNK_SHIFT, at)[at] = value;
  }

  push(value: number): void {
    this.set(this.#length, value);
  }

  /** A copy, made chunk by chunk. */
  toFloat64(): Float64Array {
    const copy = new Float64Array(this.#length).fill(this.fill);
    for (const [number, chunk] of this.#chunks.entries())
      if (chunk !== undefined) copy.set(chunk.subarray(0, this.#length - number * CHUNK), number * CHUNK);
    return copy;
  }

  #grow(number: number, at: number): Numbers {
    const chunk = this.#chunks[number];
    const count = number > 0 ? CHUNK : Math.min(CHUNK, Math.max(FIRST_CHUNK, at + 1, 2 * (chunk?.length ?? 0)));
    const grown = this.allocate(count);
    if (this.fill !== 0) grown.fill(this.fill, chunk?.length ?? 0);
    if (chunk !== undefined) grown.set(chunk);
    while (this.#chunks.length < number) this.#chunks.push(undefined);
    this.#chunks[number] = grown;
    return grown;
  }
}
