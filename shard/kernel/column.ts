/**
 * Numbers by slot or by another index from 0, in chunks that never move. A chunk stores each number as its distance
 * from a base, in 1, 2 or 4 bytes as needed. It uses 8 bytes for other numbers than whole ones below 2^32. Consecutive
 * sequences and times take 1 or 2 bytes each. Only the first chunk, while it is small, grows by copying. Chunks that
 * contain only the fill take no memory.
 */
const CHUNK_SHIFT = 12;
const CHUNK = 1 << CHUNK_SHIFT;
const FIRST_CHUNK = 4;

type Distances = Uint8Array | Uint16Array | Uint32Array | Float64Array;

interface Width {
  readonly allocate: (count: number) => Distances;
  /** Code of the fill. All distances are below it. */
  readonly absent: number;
}

const WIDTHS: readonly Width[] = [
  { allocate: (count) => new Uint8Array(count), absent: 2 ** 8 - 1 },
  { allocate: (count) => new Uint16Array(count), absent: 2 ** 16 - 1 },
  { allocate: (count) => new Uint32Array(count), absent: 2 ** 32 - 1 },
];

/** Share of a width's reach that a new chunk may use. The rest delays the next rebuild. */
const REACH = 7 / 8;

/** Chunk of distances: `base` + distance is a number, and `absent` is the fill. */
interface Chunk {
  readonly base: number;
  readonly absent: number;
  readonly distances: Distances;
}

export class Column {
  readonly #chunks: (Chunk | undefined)[] = [];
  #length = 0;

  /** `fill`: the number that is read if none was written. */
  constructor(private readonly fill: number) {}

  static of(fill: number, numbers: Float64Array): Column {
    const column = new Column(fill);
    for (let from = 0; from < numbers.length; from += CHUNK) {
      const piece = numbers.subarray(from, from + CHUNK);
      column.#chunks.push(packed(piece.length === CHUNK || from === 0 ? piece : wholeChunk(piece, fill), fill));
    }
    column.#length = numbers.length;
    return column;
  }

  /** Highest written index plus one. */
  get length(): number {
    return this.#length;
  }

  get(index: number): number {
    // An index of more than 32 bits would be truncated to another one.
    if (index >= this.#length) return this.fill;
    const chunk = this.#chunks[index >>> CHUNK_SHIFT];
    return chunk === undefined ? this.fill : this.#read(chunk, index & (CHUNK - 1));
  }

  set(index: number, value: number): void {
    if (index >= this.#length) this.#length = index + 1;
    const at = index & (CHUNK - 1);
    const chunk = this.#chunks[index >>> CHUNK_SHIFT];
    if (chunk !== undefined && at < chunk.distances.length) {
      const { base, absent, distances } = chunk;
      const distance = value === this.fill ? absent : value - base;
      // A typed array truncates a number that it cannot hold: such a distance reads differently.
      distances[at] = distance;
      if (distances[at] === distance && (distance !== absent || value === this.fill)) return;
    } else if (value === this.fill) return;
    this.#make(index >>> CHUNK_SHIFT, at, value);
  }

  push(value: number): void {
    this.set(this.#length, value);
  }

  /** Returns the first index whose number is at least `bound`, or the length. The numbers must ascend. */
  firstNotBelow(bound: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.get(middle) < bound) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Yields copies of the numbers, chunk by chunk. */
  *pieces(): Generator<Float64Array> {
    for (let from = 0; from < this.#length; from += CHUNK) {
      const chunk = this.#chunks[from >>> CHUNK_SHIFT];
      const piece = new Float64Array(Math.min(CHUNK, this.#length - from)).fill(this.fill);
      const stored = Math.min(piece.length, chunk?.distances.length ?? 0);
      for (let at = 0; at < stored; at++) piece[at] = this.#read(chunk!, at);
      yield piece;
    }
  }

  /** Returns a copy, made chunk by chunk. */
  toFloat64(): Float64Array {
    const copy = new Float64Array(this.#length);
    let at = 0;
    for (const piece of this.pieces()) {
      copy.set(piece, at);
      at += piece.length;
    }
    return copy;
  }

  #read({ base, absent, distances }: Chunk, at: number): number {
    const distance = distances[at];
    return distance === undefined || distance === absent ? this.fill : base + distance;
  }

  /** Rebuilds a chunk with room for `at` and a width for `value`, and writes the value. */
  #make(number: number, at: number, value: number): void {
    const chunk = this.#chunks[number];
    const before = chunk?.distances.length ?? 0;
    const grown = number > 0 ? CHUNK : Math.min(CHUNK, Math.max(FIRST_CHUNK, at + 1, 2 * before));
    const count = at < before ? before : grown;
    const numbers = new Float64Array(count).fill(this.fill);
    for (let i = 0; i < before; i++) numbers[i] = this.#read(chunk!, i);
    numbers[at] = value;
    while (this.#chunks.length < number) this.#chunks.push(undefined);
    this.#chunks[number] = packed(numbers, this.fill, chunk !== undefined && value < chunk.base);
  }
}

function wholeChunk(numbers: Float64Array, fill: number): Float64Array {
  const chunk = new Float64Array(CHUNK).fill(fill);
  chunk.set(numbers);
  return chunk;
}

/**
 * Packs numbers into a chunk; undefined if every number is the fill. `isDescending`: expect more numbers below the
 * least.
 */
function packed(numbers: Float64Array, fill: number, isDescending = false): Chunk | undefined {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  let areWhole = true;
  for (const number of numbers) {
    if (number === fill) continue;
    if (number < least) least = number;
    if (number > most) most = number;
    areWhole &&= Number.isSafeInteger(number);
  }
  if (least === Number.POSITIVE_INFINITY) return undefined;
  const reach = most - least + 1;
  const width = areWhole ? WIDTHS.find(({ absent }) => reach <= absent * REACH) : undefined;
  // Store the numbers unpacked.
  if (width === undefined) return { base: 0, absent: fill, distances: numbers.slice() };
  const { allocate, absent } = width;
  const base = isDescending ? least - Math.floor((absent - reach) / 2) : least;
  const distances = allocate(numbers.length);
  for (let at = 0; at < numbers.length; at++) {
    const number = numbers[at]!;
    distances[at] = number === fill ? absent : number - base;
  }
  return { base, absent, distances };
}
