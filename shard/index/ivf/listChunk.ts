import { BitSet } from '../../kernel/bitSet.js';
import { bitmapBytesOf } from '../../kernel/blockShape.js';
import { classBytes } from '../../kernel/buddyAllocator.js';
import { CODED_ROWS, PlaneMemory, planeFixedBytes, planeRowBytes } from '../../kernel/planeMemory.js';
import type { Region, VectorMemory } from '../../kernel/vectorMemory.js';
import { NO_SLOT } from '../rows.js';
import type { StagedVector, VectorPlace } from './stagedVector.js';

const SLOT_BYTES = 4;
/** A chunk is larger only where a few codes are. */
const CHUNK_BYTES_MAX = 1 << 20;
/** The share of a chunk that may stay empty, to have fewer chunks. */
const WASTE_MAX = 1 / 4;

/** What all lists of an index have in common. */
export interface ListsShape {
  readonly memory: VectorMemory;
  readonly codeBytes: number;
  readonly strideBytes: number;
  readonly narrowReach: number;
}

function bytesFor(rows: number, codeBytes: number): number {
  return planeFixedBytes(codeBytes) + rows * (planeRowBytes(codeBytes) + SLOT_BYTES) + bitmapBytesOf(rows);
}

/** Returns a power of two, since regions have no other sizes. */
function chunkBytes(rows: number, codeBytes: number): number {
  const least = classBytes(bytesFor(CODED_ROWS, codeBytes));
  const wanted = bytesFor(rows, codeBytes);
  const above = Math.max(least, classBytes(wanted));
  const sizeBytes = above > least && (above - wanted) / above > WASTE_MAX ? above / 2 : above;
  return Math.min(sizeBytes, Math.max(least, CHUNK_BYTES_MAX));
}

function capacityOf(sizeBytes: number, codeBytes: number): number {
  const rowBytes = planeRowBytes(codeBytes) + SLOT_BYTES;
  let rows = Math.floor((sizeBytes - planeFixedBytes(codeBytes)) / rowBytes);
  rows -= rows % CODED_ROWS;
  while (bytesFor(rows, codeBytes) > sizeBytes) rows -= CODED_ROWS;
  return rows;
}

/**
 * A part of a list that never moves: the codes of its rows under a plane of its own, and their slots. A removed row leaves a gap
 * for a later row, so that a search that paused in the chunk misses nothing.
 *
 *   plane of `capacity` rows | slots: capacity × u32, NO_SLOT where there is no row | bitmap of the places that have a row
 */
export class ListChunk {
  readonly region: Region;
  readonly capacity: number;
  readonly slots: Uint32Array;
  readonly slotsAddress: number;
  readonly bitmapAddress: number;
  readonly plane: PlaneMemory;
  /** The first position that was never used. */
  end = 0;
  /** An upper bound of the magnitudes of all components, and of the middles of the plane. It does not shrink. */
  largestComponent = 0;
  readonly #used: BitSet;
  #gaps = 0;

  /** Throws `capacity_exceeded`. `rows`: the rows to come; the capacity may be smaller. `hasCodes`: false where they can have none. */
  constructor(
    private readonly shape: ListsShape,
    readonly hasCodes: boolean,
    rows: number,
  ) {
    const { memory, codeBytes } = shape;
    this.region = memory.allocateBlock(chunkBytes(rows, codeBytes));
    this.capacity = capacityOf(this.region.sizeBytes, codeBytes);
    const { arena, address } = this.region;
    this.plane = new PlaneMemory(arena.buffer, address, this.capacity, codeBytes);
    this.slotsAddress = address + planeFixedBytes(codeBytes) + this.capacity * planeRowBytes(codeBytes);
    this.bitmapAddress = this.slotsAddress + this.capacity * SLOT_BYTES;
    this.slots = new Uint32Array(arena.buffer, this.slotsAddress, this.capacity).fill(NO_SLOT);
    const bitmap = new Uint32Array(arena.buffer, this.bitmapAddress, bitmapBytesOf(this.capacity) / 4);
    this.#used = new BitSet(bitmap.fill(0));
  }

  /** Whether a place below `end` has a row. */
  readonly holds = (position: number): boolean => this.#used.has(position);

  get hasCapacity(): boolean {
    return this.#gaps > 0 || this.end < this.capacity;
  }

  /** Chooses middles and steps of the plane for these vectors. `largest`: their largest component in magnitude. */
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

  /** Adds a row; there must be capacity. `largest`: its largest component in magnitude. */
  add(slot: number, vector: VectorPlace, largest: number, staged: StagedVector): void {
    const position = this.#gaps > 0 ? this.slots.indexOf(NO_SLOT) : this.end;
    if (this.hasCodes) this.#encode(position, vector, staged);
    if (position < this.end) this.#gaps--;
    else this.end++;
    this.slots[position] = slot;
    this.#used.add(position);
    this.largestComponent = Math.max(this.largestComponent, largest);
  }

  /** False where the row is not in this chunk. */
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
    // The kernel counts rows from the first: addresses are u32, and begin again at 0.
    const first = (staged.addressIn(arena, vector) - position * strideBytes) | 0;
    arena.kernel.encodeRows(this.plane.address, first, strideBytes, position, 1);
  }
}
