/** The memory of a part of an inverted list. It has for each row a byte code, two f32, a slot, and a sign code. */
import { BitSet } from '../../kernel/bitSet.js';
import { bitmapBytesOf } from '../../kernel/blockShape.js';
import { classBytes } from '../../kernel/buddyAllocator.js';
import { CODED_ROWS, PlaneMemory, planeFixedBytes, planeRowBytes } from '../../kernel/planeMemory.js';
import { rotatedBytes, SignCodes, signCodeBytes, wholeGroups } from '../../kernel/signCodes.js';
import type { Region, VectorMemory } from '../../kernel/vectorMemory.js';
import { NO_SLOT } from '../rows.js';
import type { ListSigns } from './listSigns.js';
import type { StagedVector } from './stagedVector.js';

const SLOT_BYTES = 4;
const ALIGNMENT_BYTES = 16;
/** Largest chunk, unless the fewest rows of a chunk need more. */
const CHUNK_BYTES_MAX = 1 << 20;
/** Largest share of a new chunk that may be empty. A chunk of half the size is made instead of an emptier one. */
const WASTE_MAX = 1 / 4;

/** Facts that all lists of an index have in common. */
export interface ListsShape {
  readonly memory: VectorMemory;
  readonly codeBytes: number;
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

/** The sizes of the parts of a chunk; see `ListChunk`. */
class ChunkSizes {
  readonly centroidBytes: number;
  readonly #signBytes: number;
  /** The capacity of a chunk is a multiple of this. */
  readonly #rowsUnit: number;

  constructor(private readonly shape: ListsShape) {
    const { signs } = shape;
    this.centroidBytes = signs === undefined ? 0 : rotatedBytes(signs.dimension);
    this.#signBytes = signs === undefined ? 0 : signCodeBytes(signs.dimension);
    this.#rowsUnit = signs === undefined ? CODED_ROWS : wholeGroups(1);
  }

  /** Returns the bytes of a chunk for `rows` rows, or for some of them: a power of two, like the size of every region. */
  bytesFor(rows: number): number {
    const least = classBytes(this.#bytes(this.#rowsUnit));
    const wanted = this.#bytes(rows);
    const above = Math.max(least, classBytes(wanted));
    const sizeBytes = above > least && (above - wanted) / above > WASTE_MAX ? above / 2 : above;
    return Math.min(sizeBytes, Math.max(least, CHUNK_BYTES_MAX));
  }

  capacityOf(sizeBytes: number): number {
    let rows = Math.floor((sizeBytes - this.#bytes(0)) / this.#rowBytes);
    rows -= rows % this.#rowsUnit;
    while (this.#bytes(rows) > sizeBytes) rows -= this.#rowsUnit;
    return rows;
  }

  bitmapBytes(rows: number): number {
    return Math.ceil(bitmapBytesOf(rows) / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
  }

  signBytes(rows: number): number {
    return rows * this.#signBytes;
  }

  planeBytes(rows: number): number {
    const { codeBytes } = this.shape;
    return planeFixedBytes(codeBytes) + rows * planeRowBytes(codeBytes);
  }

  get #rowBytes(): number {
    return planeRowBytes(this.shape.codeBytes) + SLOT_BYTES + this.#signBytes;
  }

  #bytes(rows: number): number {
    return this.centroidBytes + this.bitmapBytes(rows) + this.planeBytes(0) + rows * this.#rowBytes;
  }
}

/**
 * A part of a list. Its rows never move. A removed row leaves a gap for a later one, so that a search that paused in the chunk
 * misses none. The parts of its memory:
 *
 *   Rotated centroid | bitmap of the used places | sign codes | plane with byte codes |
 *   slots: capacity × u32, NO_SLOT for a gap
 */
export class ListChunk {
  readonly region: Region;
  readonly capacity: number;
  readonly slots: Uint32Array;
  readonly slotsAddress: number;
  readonly bitmapAddress: number;
  readonly plane: PlaneMemory;
  /** Sign codes of the rows, relative to the rotated centroid at the beginning of the chunk. */
  readonly signs: SignCodes | undefined;
  /** End of the places that are used, or were. */
  end = 0;
  /** Upper bound of the magnitudes of all components, and of the plane's middles. It never falls. */
  largestComponent = 0;
  readonly #used: BitSet;
  #gaps = 0;

  /**
   * Makes an empty chunk of the list with this centroid. `hasCodes` is false for rows that cannot have codes. The capacity may be
   * smaller than `rows`. Throws `capacity_exceeded`.
   */
  constructor(
    private readonly shape: ListsShape,
    readonly hasCodes: boolean,
    rows: number,
    private readonly centroid: Int32Array,
  ) {
    const { memory, codeBytes, signs } = shape;
    const sizes = new ChunkSizes(shape);
    this.region = memory.allocateBlock(sizes.bytesFor(rows));
    this.capacity = sizes.capacityOf(this.region.sizeBytes);
    const { address } = this.region;
    const { buffer } = this.region.arena;
    this.bitmapAddress = address + sizes.centroidBytes;
    const signsAddress = this.bitmapAddress + sizes.bitmapBytes(this.capacity);
    const planeAddress = signsAddress + sizes.signBytes(this.capacity);
    this.slotsAddress = planeAddress + sizes.planeBytes(this.capacity);
    this.plane = new PlaneMemory(buffer, planeAddress, this.capacity, codeBytes);
    this.slots = new Uint32Array(buffer, this.slotsAddress, this.capacity).fill(NO_SLOT);
    this.#used = new BitSet(new Uint32Array(buffer, this.bitmapAddress, bitmapBytesOf(this.capacity) / 4).fill(0));
    this.signs = signs === undefined ? undefined : this.#placeSigns(signs, signsAddress);
  }

  /** Whether a place has a row. */
  readonly holds = (position: number): boolean => this.#used.has(position);

  get hasCapacity(): boolean {
    return this.#gaps > 0 || this.end < this.capacity;
  }

  /**
   * Fits middles and steps of the plane to vectors at addresses in its arena. Each is valid until the next.
   * `largest`: magnitude of their largest component.
   */
  fit(addresses: Iterable<number>, largest: number): void {
    const { arena } = this.region;
    const { strideBytes } = this.shape;
    const { address } = this.plane;
    arena.kernel.beginFit(address);
    for (const vector of addresses) arena.kernel.fitRows(address, vector, 0, 1, strideBytes);
    arena.kernel.endFit(address, strideBytes);
    this.plane.renew();
    this.largestComponent = largest;
  }

  /** Copies middles and steps from another chunk. */
  inherit(other: ListChunk): void {
    this.plane.inherit(other.plane);
    this.largestComponent = other.largestComponent;
  }

  /** Adds a row. There must be capacity. */
  add({ slot, largest }: MeasuredRow, staged: StagedVector): void {
    const position = this.#gaps > 0 ? this.slots.indexOf(NO_SLOT) : this.end;
    if (this.hasCodes) this.#encode(position, slot, staged);
    if (position < this.end) this.#gaps--;
    else this.end++;
    this.slots[position] = slot;
    this.#used.add(position);
    this.largestComponent = Math.max(this.largestComponent, largest);
  }

  /** Removes a row. Returns false if it is not in this chunk. */
  remove(slot: number): boolean {
    const position = this.slots.indexOf(slot);
    if (position === -1) return false;
    this.slots[position] = NO_SLOT;
    this.#used.delete(position);
    this.plane.erase(position);
    this.#gaps++;
    return true;
  }

  free(): void {
    this.shape.memory.freeBlock(this.region);
  }

  #encode(position: number, slot: number, staged: StagedVector): void {
    const { arena } = this.region;
    const { strideBytes } = this.shape;
    // The kernel expects the address of row 0. Addresses are u32, so a negative one wraps around.
    const first = (staged.addressIn(arena, slot) - position * strideBytes) | 0;
    arena.kernel.encodeRows(this.plane.address, first, strideBytes, position, 1);
    if (this.signs === undefined) return;
    this.signs.write(position, this.shape.signs!.encode(staged.components(slot), this.centroid));
  }

  #placeSigns(signs: ListSigns, address: number): SignCodes {
    const { arena, address: centroidAddress } = this.region;
    const rotated = signs.rotated(this.centroid);
    new Float32Array(arena.buffer, centroidAddress, rotated.length).set(rotated);
    return new SignCodes(arena.buffer, address, this.capacity, signCodeBytes(signs.dimension));
  }
}
