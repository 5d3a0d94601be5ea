/** Memory of one part of an inverted list: per row a byte code (dimension bytes), two f32, a slot, and a sign code. */
import { BitSet } from '../../kernel/bitSet.js';
import { bitmapBytesOf } from '../../kernel/blockShape.js';
import { classBytes } from '../../kernel/buddyAllocator.js';
import { CODED_ROWS, PlaneMemory, planeFixedBytes, planeRowBytes } from '../../kernel/planeMemory.js';
import { rotatedBytes, SignCodes, signCodeBytes, wholeGroups } from '../../kernel/signCodes.js';
import type { Region, VectorMemory } from '../../kernel/vectorMemory.js';
import { NO_SLOT } from '../rows.js';
import type { ListSigns } from './listSigns.js';
import type { StagedVector, VectorPlace } from './stagedVector.js';

const SLOT_BYTES = 4;
const ALIGNMENT_BYTES = 16;
/** Largest chunk, unless a few codes need more. */
const CHUNK_BYTES_MAX = 1 << 20;
/** Share of a chunk that may stay empty, to have fewer chunks. */
const WASTE_MAX = 1 / 4;

/** Common facts of all lists of an index. */
export interface ListsShape {
  readonly memory: VectorMemory;
  readonly codeBytes: number;
  readonly strideBytes: number;
  readonly narrowReach: number;
  /** Undefined if rows have no sign codes. */
  readonly signs: ListSigns | undefined;
}

/** A row of a list. `largest`: its largest component in magnitude. */
export interface MeasuredRow {
  readonly slot: number;
  readonly vector: VectorPlace;
  readonly largest: number;
}

/** The layout of chunks; see `ListChunk`. */
class ChunkSizes {
  readonly centreBytes: number;
  readonly #signBytes: number;
  readonly #rowsUnit: number;

  constructor(private readonly shape: ListsShape) {
    const { signs } = shape;
    this.centreBytes = signs === undefined ? 0 : rotatedBytes(signs.dimension);
    this.#signBytes = signs === undefined ? 0 : signCodeBytes(signs.dimension);
    this.#rowsUnit = signs === undefined ? CODED_ROWS : wholeGroups(1);
  }

  /** Returns the bytes of the chunk for so many rows: a power of two, like every region. */
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
    return this.centreBytes + this.bitmapBytes(rows) + this.planeBytes(0) + rows * this.#rowBytes;
  }
}

/**
 * A part of a list that never moves: the codes of its rows under their own plane, and their slots. A removed row leaves
 * a gap for a later row, so that a search that paused in the chunk misses nothing.
 *
 *   Rotated centroid | bitmap of the places that have a row | sign codes | plane of `capacity` rows |
 *   slots: capacity × u32, NO_SLOT for a gap
 */
export class ListChunk {
  readonly region: Region;
  readonly capacity: number;
  readonly slots: Uint32Array;
  readonly slotsAddress: number;
  readonly bitmapAddress: number;
  readonly plane: PlaneMemory;
  /** Sign codes of the rows, around the rotated centroid at the beginning of the chunk. */
  readonly signs: SignCodes | undefined;
  /** End of the places that were ever used. */
  end = 0;
  /** Upper bound of the magnitudes of all components, and of the plane's middles. It does not shrink. */
  largestComponent = 0;
  readonly #used: BitSet;
  #gaps = 0;

  /**
   * Makes an empty chunk. Throws `capacity_exceeded`. `rows`: the rows to come; the capacity may be smaller.
   * `hasCodes`: false if they cannot have codes. `centroid`: that of the list.
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
    this.bitmapAddress = address + sizes.centreBytes;
    const signsAddress = this.bitmapAddress + sizes.bitmapBytes(this.capacity);
    const planeAddress = signsAddress + sizes.signBytes(this.capacity);
    this.slotsAddress = planeAddress + sizes.planeBytes(this.capacity);
    this.plane = new PlaneMemory(buffer, planeAddress, this.capacity, codeBytes);
    this.slots = new Uint32Array(buffer, this.slotsAddress, this.capacity).fill(NO_SLOT);
    this.#used = new BitSet(new Uint32Array(buffer, this.bitmapAddress, bitmapBytesOf(this.capacity) / 4).fill(0));
    this.signs = signs === undefined ? undefined : this.#placeSigns(signs, signsAddress);
  }

  /** Whether a place below `end` has a row. */
  readonly holds = (position: number): boolean => this.#used.has(position);

  get hasCapacity(): boolean {
    return this.#gaps > 0 || this.end < this.capacity;
  }

  /** Fits middles and steps of the plane to these vectors. `largest`: their largest component in magnitude. */
  fit(vectors: Iterable<VectorPlace>, largest: number, staged: StagedVector): void {
    const { arena } = this.region;
    const { strideBytes } = this.shape;
    const { address } = this.plane;
    arena.kernel.beginFit(address);
    for (const vector of vectors) arena.kernel.fitRows(address, staged.addressIn(arena, vector), 0, 1, strideBytes);
    arena.kernel.endFit(address, strideBytes);
    this.plane.renew();
    this.largestComponent = largest;
  }

  /** Takes middles and steps of another chunk. */
  inherit(other: ListChunk): void {
    this.plane.inherit(other.plane);
    this.largestComponent = other.largestComponent;
  }

  /** Adds a row. There must be capacity. */
  add({ slot, vector, largest }: MeasuredRow, staged: StagedVector): void {
    const position = this.#gaps > 0 ? this.slots.indexOf(NO_SLOT) : this.end;
    if (this.hasCodes) this.#encode(position, vector, staged);
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

  #encode(position: number, vector: VectorPlace, staged: StagedVector): void {
    const { arena } = this.region;
    const { strideBytes } = this.shape;
    // The kernel counts rows from the first. Addresses are u32 and wrap around to 0.
    const first = (staged.addressIn(arena, vector) - position * strideBytes) | 0;
    arena.kernel.encodeRows(this.plane.address, first, strideBytes, position, 1);
    if (this.signs === undefined) return;
    const components = new Int32Array(vector.arena.buffer, vector.address, this.centroid.length);
    this.signs.write(position, this.shape.signs!.encode(components, this.centroid));
  }

  #placeSigns(signs: ListSigns, address: number): SignCodes {
    const { arena, address: centreAddress } = this.region;
    const centre = signs.rotated(this.centroid);
    new Float32Array(arena.buffer, centreAddress, centre.length).set(centre);
    return new SignCodes(arena.buffer, address, this.capacity, signCodeBytes(signs.dimension));
  }
}
