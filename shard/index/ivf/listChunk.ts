/** A part of an inverted list. It has for each row a byte code, two f32, a slot, and a sign code. */
import type { Arena } from '../../kernel/arena.js';
import { PlaneMemory } from '../../kernel/planeMemory.js';
import { SignCodes, signCodeBytes } from '../../kernel/signCodes.js';
import type { BlockMemory, Region } from '../../kernel/vectorMemory.js';
import { NO_SLOT } from '../rows.js';
import { ChunkMemory, type ChunkShape } from './chunkMemory.js';
import type { ListSigns } from './listSigns.js';
import type { StagedVector } from './stagedVector.js';

/** Facts that all lists of an index have in common. */
export interface ListsShape {
  readonly memory: BlockMemory;
  readonly chunks: ChunkShape;
  readonly strideBytes: number;
  readonly narrowReach: number;
  /** Undefined if rows have no sign codes. */
  readonly signs: ListSigns | undefined;
}

/** A row for a list. */
export interface MeasuredRow {
  readonly slot: number;
  /** Magnitude of its largest component. */
  readonly largest: number;
}

/** A part of a list. A removed row leaves a gap for a later one, so that a search that paused in the chunk misses none. */
export class ListChunk {
  readonly region: Region;
  readonly memory: ChunkMemory<Arena>;
  readonly #plane: PlaneMemory;
  /** Sign codes of the rows, relative to the rotated centroid. */
  readonly #signs: SignCodes | undefined;
  #gaps = 0;

  /**
   * Makes an empty chunk of the list with this centroid. `hasCodes` is false for rows that cannot have codes. The capacity may be
   * smaller than `rows`. Throws `capacity_exceeded`.
   */
  constructor(
    private readonly shape: ListsShape,
    hasCodes: boolean,
    rows: number,
    private readonly centroid: Int32Array,
  ) {
    const { memory, chunks, signs } = shape;
    this.region = memory.allocateBlock(chunks.bytesFor(rows));
    const { arena, address, sizeBytes } = this.region;
    const capacity = chunks.capacityOf(sizeBytes);
    this.memory = ChunkMemory.empty(arena, address, chunks, { hasCodes, capacity });
    this.memory.slots.fill(NO_SLOT);
    this.memory.used.words.fill(0);
    this.#plane = new PlaneMemory(arena.buffer, this.memory.places.plane, capacity, chunks.codeBytes);
    this.#signs = signs === undefined ? undefined : this.#placeSigns(signs);
  }

  get hasCodes(): boolean {
    return this.memory.hasCodes;
  }

  get capacity(): number {
    return this.memory.capacity;
  }

  get isEmpty(): boolean {
    return this.#gaps === this.memory.end;
  }

  get hasCapacity(): boolean {
    return this.#gaps > 0 || this.memory.end < this.capacity;
  }

  /**
   * Fits middles and steps of the plane to vectors at addresses in its arena. Each is valid until the next.
   * `largest`: magnitude of their largest component.
   */
  fit(addresses: Iterable<number>, largest: number): void {
    const { arena } = this.region;
    const { strideBytes } = this.shape;
    const { address } = this.#plane;
    arena.kernel.beginFit(address);
    for (const vector of addresses) arena.kernel.fitRows(address, vector, 0, 1, strideBytes);
    arena.kernel.endFit(address, strideBytes);
    this.#plane.renew();
    this.memory.largestComponent = largest;
  }

  /** Copies middles and steps from another chunk. */
  inherit(other: ListChunk): void {
    this.#plane.inherit(other.#plane);
    this.memory.largestComponent = other.memory.largestComponent;
  }

  /** Adds a row. There must be capacity, and an empty chunk with codes must be fitted. */
  add({ slot, largest }: MeasuredRow, staged: StagedVector): void {
    const { memory } = this;
    const position = this.#gaps > 0 ? memory.slots.indexOf(NO_SLOT) : memory.end;
    if (this.hasCodes) this.#encode(position, slot, staged);
    if (position < memory.end) this.#gaps--;
    else memory.end++;
    memory.slots[position] = slot;
    memory.used.add(position);
    memory.largestComponent = Math.max(memory.largestComponent, largest);
  }

  /** Removes a row, and with the last one the middles and steps. Returns false if the row is not in this chunk. */
  remove(slot: number): boolean {
    const { slots, used } = this.memory;
    const position = slots.indexOf(slot);
    if (position === -1) return false;
    slots[position] = NO_SLOT;
    used.delete(position);
    this.#plane.erase(position);
    this.#signs?.erase(position);
    this.#gaps++;
    if (this.isEmpty) this.#plane.eraseScale();
    return true;
  }

  /** Overwrites the centroid. Only for a chunk of a list that gets no rows any more. */
  eraseCentroid(): void {
    const { places } = this.memory;
    this.centroid.fill(0);
    new Uint8Array(this.region.arena.buffer, places.centroid, places.bitmap - places.centroid).fill(0);
  }

  free(): void {
    this.shape.memory.freeBlock(this.region);
  }

  #encode(position: number, slot: number, staged: StagedVector): void {
    const { arena } = this.region;
    const { strideBytes } = this.shape;
    // The kernel expects the address of row 0. Addresses are u32, so a negative one wraps around.
    const first = (staged.addressIn(arena, slot) - position * strideBytes) | 0;
    arena.kernel.encodeRows(this.#plane.address, first, strideBytes, position, 1);
    this.#signs?.write(position, this.shape.signs!.encode(staged.components(slot), this.centroid));
  }

  #placeSigns(signs: ListSigns): SignCodes {
    const { buffer } = this.region.arena;
    const { places, capacity } = this.memory;
    const rotated = signs.rotated(this.centroid);
    new Float32Array(buffer, places.centroid, rotated.length).set(rotated);
    return new SignCodes(buffer, places.signs, capacity, signCodeBytes(signs.dimension));
  }
}
