import { classBytes } from '../../kernel/buddyAllocator.js';
import type { Region, VectorMemory } from '../../kernel/vectorMemory.js';
import { NO_SLOT } from '../rows.js';
import { CODE_GROUP, type CodeShape } from './codeShape.js';

const SLOT_BYTES = 4;
/** A chunk is larger only where one group of codes is. */
const CHUNK_BYTES_MAX = 1 << 20;
/** The share of a chunk that may stay empty, to have fewer chunks. */
const WASTE_MAX = 1 / 4;
/** A list grows by this share of itself, and by this many rows at least. */
const GROWTH = 1 / 4;
const GROWTH_MIN = 8;

/** The place of a vector in memory, padded with zeros as the rows of a block are. */
export interface VectorPlace {
  readonly region: Region;
  readonly address: number;
}

/** Returns a power of two, since regions have no other sizes. */
function chunkBytes(rows: number, rowBytes: number): number {
  const least = classBytes(CODE_GROUP * rowBytes);
  const wanted = rows * rowBytes;
  const above = Math.max(least, classBytes(wanted));
  const sizeBytes = above > least && (above - wanted) / above > WASTE_MAX ? above / 2 : above;
  return Math.min(sizeBytes, Math.max(least, CHUNK_BYTES_MAX));
}

/**
 * A part of a list that never moves: codes of one shift, and the slots of their rows. A removed row leaves a gap for a
 * later row, so that a search that paused in the chunk misses nothing.
 *
 *   codes: capacity × codeBytes | slots: capacity × u32, NO_SLOT where there is no row
 */
export class ListChunk {
  readonly region: Region;
  readonly capacity: number;
  readonly slots: Uint32Array;
  /** The first position that was never used. */
  end = 0;
  /** An upper bound of the magnitudes of all components. It does not shrink when rows are removed. */
  largestComponent = 0;
  #gaps = 0;

  /** Throws `capacity_exceeded`. `rows`: the rows to come; the capacity may be smaller. */
  constructor(
    private readonly memory: VectorMemory,
    private readonly shape: CodeShape,
    readonly shift: number,
    rows: number,
  ) {
    const rowBytes = shape.codeBytes + SLOT_BYTES;
    this.region = memory.allocateBlock(chunkBytes(rows, rowBytes));
    const fitting = Math.floor(this.region.sizeBytes / rowBytes);
    this.capacity = fitting - (fitting % CODE_GROUP);
    const { arena } = this.region;
    this.slots = new Uint32Array(arena.buffer, this.slotsAddress, this.capacity).fill(NO_SLOT);
  }

  get slotsAddress(): number {
    return this.codeAddress(this.capacity);
  }

  get hasCapacity(): boolean {
    return this.#gaps > 0 || this.end < this.capacity;
  }

  codeAddress(position: number): number {
    return this.region.address + position * this.shape.codeBytes;
  }

  /** Adds a row; there must be capacity. `largest`: its largest component in magnitude. */
  add(slot: number, vector: VectorPlace, strideBytes: number, largest: number): void {
    const position = this.#gaps > 0 ? this.slots.indexOf(NO_SLOT) : this.end;
    if (position < this.end) this.#gaps--;
    else this.end++;
    this.#write(position, vector, strideBytes);
    this.slots[position] = slot;
    this.largestComponent = Math.max(this.largestComponent, largest);
  }

  /** False where the row is not in this chunk. */
  remove(slot: number): boolean {
    const position = this.slots.indexOf(slot);
    if (position === -1) return false;
    this.slots[position] = NO_SLOT;
    this.#gaps++;
    return true;
  }

  free(): void {
    this.memory.freeBlock(this.region);
  }

  #write(position: number, { region, address }: VectorPlace, strideBytes: number): void {
    const { codeBytes, componentMax } = this.shape;
    const { arena } = this.region;
    if (region.arena === arena) {
      arena.kernel.cutRows(address, strideBytes, 1, this.codeAddress(position), codeBytes, this.shift, componentMax);
      return;
    }
    const components = new Int32Array(region.arena.buffer, address, strideBytes / 4);
    const code = new Int16Array(arena.buffer, this.codeAddress(position), codeBytes / 2).fill(0);
    for (let i = 0; i < components.length; i++) code[i] = components[i]! >> this.shift;
  }
}

export interface ListsShape {
  readonly memory: VectorMemory;
  readonly codes: CodeShape;
  readonly strideBytes: number;
  /** The shift that suits most rows. Other rows have chunks of their own, so that an outlier coarsens no other row. */
  readonly usualShift: number;
}

/** The rows nearest to one centroid, as codes. */
export class InvertedList {
  readonly chunks: ListChunk[] = [];
  /** Rows that will be added soon, for which the next chunk has capacity. */
  expected = 0;
  #count = 0;

  constructor(private readonly shape: ListsShape) {}

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.chunks.reduce((sum, { region }) => sum + region.sizeBytes, 0);
  }

  /** Throws `capacity_exceeded`, and has then not added the row. */
  add(slot: number, vector: VectorPlace): void {
    const { codes, strideBytes, usualShift } = this.shape;
    const largest = vector.region.arena.kernel.largestComponent(vector.address, strideBytes) >>> 0;
    const shift = Math.max(usualShift, codes.shiftFor(2 * largest));
    const chunk = this.chunks.find((each) => each.shift === shift && each.hasCapacity) ?? this.#addChunk(shift);
    chunk.add(slot, vector, strideBytes, largest);
    this.#count++;
    if (this.expected > 0) this.expected--;
  }

  remove(slot: number): void {
    if (this.chunks.some((chunk) => chunk.remove(slot))) this.#count--;
  }

  free(): void {
    for (const chunk of this.chunks.splice(0)) chunk.free();
    this.#count = 0;
  }

  #addChunk(shift: number): ListChunk {
    const { memory, codes, usualShift } = this.shape;
    const grown = Math.max(GROWTH_MIN, Math.ceil(this.#count * GROWTH));
    const rows = shift === usualShift ? this.expected || grown : GROWTH_MIN;
    const chunk = new ListChunk(memory, codes, shift, rows);
    this.chunks.push(chunk);
    return chunk;
  }
}
