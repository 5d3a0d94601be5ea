/** One list of an inverted file, in chunks (`listChunk.ts`). */
import type { Arena } from '../../kernel/arena.js';
import { canBeCoded } from '../../kernel/planeMemory.js';
import { ListChunk, type ListsShape, type MeasuredRow } from './listChunk.js';
import type { StagedVector, VectorPlace } from './stagedVector.js';

/** Rows for which a list gets memory when it is full: this share of its rows, and at least so many. */
const GROWTH = 1 / 4;
const GROWTH_MIN = 8;

const I32_MAX = 2 ** 31 - 1;
const clamped = (component: number): number => Math.max(-I32_MAX, Math.min(I32_MAX, component));

/** A row to add to a list. */
export type ListedRow = Pick<MeasuredRow, 'slot' | 'vector'>;

const largestOf = ({ arena, address }: VectorPlace, strideBytes: number): number =>
  arena.kernel.largestComponent(address, strideBytes) >>> 0;

/** The rows whose nearest centroid is that of the list. Rows that cannot have codes are in chunks of their own. */
export class InvertedList {
  readonly chunks: ListChunk[] = [];
  #count = 0;

  /** `centroid`: returns the components of the list's centroid. */
  constructor(
    private readonly shape: ListsShape,
    private readonly centroid: () => Int32Array,
  ) {}

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.chunks.reduce((sum, { region }) => sum + region.sizeBytes, 0);
  }

  /** Adds rows in new chunks, and fits their planes to these rows. Yields after each row. Throws `capacity_exceeded`. */
  *fill(rows: readonly ListedRow[], staged: StagedVector): Generator<undefined> {
    const { narrowReach, strideBytes } = this.shape;
    const centroid = this.centroid();
    const measured = rows.map((row) => ({ ...row, largest: largestOf(row.vector, strideBytes) }));
    for (const hasCodes of [true, false]) {
      const alike = measured.filter(({ largest }) => canBeCoded(largest, narrowReach) === hasCodes);
      while (alike.length > 0) {
        const chunk = new ListChunk(this.shape, hasCodes, alike.length, centroid);
        this.chunks.push(chunk);
        const taken = alike.splice(0, chunk.capacity);
        const largest = taken.reduce((most, row) => Math.max(most, row.largest), 0);
        const vectors = taken.map(({ vector }) => vector);
        if (hasCodes) chunk.fit(vectors, largest, staged);
        for (const row of taken) {
          chunk.add(row, staged);
          this.#count++;
          yield;
        }
      }
    }
  }

  /** Adds a row. Throws `capacity_exceeded` without a change. */
  add({ slot, vector }: ListedRow, staged: StagedVector): void {
    const { narrowReach, strideBytes } = this.shape;
    const largest = largestOf(vector, strideBytes);
    const hasCodes = canBeCoded(largest, narrowReach);
    const chunk = this.chunks.find((each) => each.hasCodes === hasCodes && each.hasCapacity);
    (chunk ?? this.#grow(hasCodes, vector, staged)).add({ slot, vector, largest }, staged);
    this.#count++;
  }

  remove(slot: number): void {
    if (this.chunks.some((chunk) => chunk.remove(slot))) this.#count--;
  }

  free(): void {
    for (const chunk of this.chunks.splice(0)) chunk.free();
    this.#count = 0;
  }

  /** Adds an empty chunk for `vector` and more. */
  #grow(hasCodes: boolean, vector: VectorPlace, staged: StagedVector): ListChunk {
    const before = this.chunks.find((chunk) => chunk.hasCodes);
    const centroid = this.centroid();
    const rows = Math.max(GROWTH_MIN, Math.ceil(this.#count * GROWTH));
    const chunk = new ListChunk(this.shape, hasCodes, rows, centroid);
    try {
      if (hasCodes && before === undefined) this.#fitAround(chunk, vector, centroid, staged);
      else if (hasCodes) chunk.inherit(before!);
    } catch (error) {
      chunk.free();
      throw error;
    }
    this.chunks.push(chunk);
    return chunk;
  }

  /** Fits the plane of a list without rows: to the centroid ± the largest difference between its and the vector's components. */
  #fitAround(chunk: ListChunk, { arena, address }: VectorPlace, centroid: Int32Array, staged: StagedVector): void {
    const components = new Int32Array(arena.buffer, address, centroid.length);
    const reach = components.reduce((most, component, i) => Math.max(most, Math.abs(component - centroid[i]!)), 0);
    const ends = [-reach, reach].map((far) => centroid.map((component) => clamped(component + far)));
    const largest = ends.flatMap((end) => [...end]).reduce((most, component) => Math.max(most, Math.abs(component)), 0);
    const within = canBeCoded(largest, this.shape.narrowReach) ? ends : [components];
    const { arena: own } = chunk.region;
    // A generator, since both vectors are written to one place.
    chunk.fit(placed(own, within, staged), within === ends ? largest : 0, staged);
  }
}

function* placed(arena: Arena, vectors: readonly Int32Array[], staged: StagedVector): Generator<VectorPlace> {
  for (const vector of vectors) yield staged.write(arena, vector);
}
