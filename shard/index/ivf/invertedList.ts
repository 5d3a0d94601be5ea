/** One list of an inverted file, in chunks (`listChunk.ts`). */
import type { Arena } from '../../kernel/arena.js';
import { canBeCoded } from '../../kernel/planeMemory.js';
import { ListChunk, type ListsShape } from './listChunk.js';
import type { StagedVector } from './stagedVector.js';

/** Rows for which a list gets memory when it is full: this share of its rows, and at least so many. */
const GROWTH = 1 / 4;
const GROWTH_MIN = 8;

const I32_MAX = 2 ** 31 - 1;
const clamped = (component: number): number => Math.max(-I32_MAX, Math.min(I32_MAX, component));

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
  *fill(slots: readonly number[], staged: StagedVector): Generator<undefined> {
    const { narrowReach } = this.shape;
    const centroid = this.centroid();
    const measured = slots.map((slot) => ({ slot, largest: staged.largestOf(slot) }));
    for (const hasCodes of [true, false]) {
      const alike = measured.filter(({ largest }) => canBeCoded(largest, narrowReach) === hasCodes);
      while (alike.length > 0) {
        const chunk = new ListChunk(this.shape, hasCodes, alike.length, centroid);
        this.chunks.push(chunk);
        const taken = alike.splice(0, chunk.capacity);
        const largest = taken.reduce((most, row) => Math.max(most, row.largest), 0);
        // A plane that is fitted to one row has that row as its middles, which stay when the row is removed.
        if (hasCodes && taken.length === 1)
          this.#fitAround(chunk, staged.components(taken[0]!.slot).slice(), centroid, staged);
        else if (hasCodes) chunk.fit(addressesOf(chunk, taken, staged), largest);
        for (const row of taken) {
          chunk.add(row, staged);
          this.#count++;
          yield;
        }
      }
    }
  }

  /** Adds a row. Throws `capacity_exceeded` without a change. */
  add(slot: number, staged: StagedVector): void {
    const largest = staged.largestOf(slot);
    const hasCodes = canBeCoded(largest, this.shape.narrowReach);
    const chunk = this.chunks.find((each) => each.hasCodes === hasCodes && each.hasCapacity) ?? this.#grow(hasCodes);
    if (hasCodes && chunk.isEmpty) this.#fit(chunk, slot, staged);
    chunk.add({ slot, largest }, staged);
    this.#count++;
  }

  remove(slot: number): void {
    if (this.chunks.some((chunk) => chunk.remove(slot))) this.#count--;
  }

  /** Overwrites what an empty list keeps of its former rows. */
  erase(): void {
    for (const chunk of this.chunks) chunk.eraseCentroid();
  }

  free(): void {
    for (const chunk of this.chunks.splice(0)) chunk.free();
    this.#count = 0;
  }

  /** Adds an empty chunk for a row and more. */
  #grow(hasCodes: boolean): ListChunk {
    const rows = Math.max(GROWTH_MIN, Math.ceil(this.#count * GROWTH));
    const chunk = new ListChunk(this.shape, hasCodes, rows, this.centroid());
    this.chunks.push(chunk);
    return chunk;
  }

  /** Fits the plane of an empty chunk like that of a chunk with rows, or else around the row at `slot`. Throws `capacity_exceeded`. */
  #fit(chunk: ListChunk, slot: number, staged: StagedVector): void {
    const other = this.chunks.find(({ hasCodes, isEmpty }) => hasCodes && !isEmpty);
    if (other === undefined) this.#fitAround(chunk, staged.components(slot).slice(), this.centroid(), staged);
    else chunk.inherit(other);
  }

  /** Fits the plane of a list without rows: to the centroid ± the largest difference between its and the vector's components. */
  #fitAround(chunk: ListChunk, components: Int32Array, centroid: Int32Array, staged: StagedVector): void {
    const reach = components.reduce((most, component, i) => Math.max(most, Math.abs(component - centroid[i]!)), 0);
    const ends = [-reach, reach].map((far) => centroid.map((component) => clamped(component + far)));
    const largest = ends.flatMap((end) => [...end]).reduce((most, component) => Math.max(most, Math.abs(component)), 0);
    const within = canBeCoded(largest, this.shape.narrowReach) ? ends : [components];
    const { arena } = chunk.region;
    // A generator, since both vectors are written to one place.
    chunk.fit(placed(arena, within, staged), within === ends ? largest : 0);
  }
}

/** Yields one address at a time, since all vectors are written to one place. */
function* placed(arena: Arena, vectors: readonly Int32Array[], staged: StagedVector): Generator<number> {
  for (const vector of vectors) yield staged.write(arena, vector);
}

function* addressesOf(
  { region: { arena } }: ListChunk,
  rows: readonly { readonly slot: number }[],
  staged: StagedVector,
): Generator<number> {
  for (const { slot } of rows) yield staged.addressIn(arena, slot);
}
