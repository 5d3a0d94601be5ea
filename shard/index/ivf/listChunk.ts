import { classBytes } from '../../kernel/buddyAllocator.js';
import type { Region, VectorMemory } from '../../kernel/vectorMemory.js';
import { NO_SLOT } from '../rows.js';
import { CODE_GROUP, type CodeShape } from './codeShape.js';

const SLOT_BYTES = 4;
/** Larger only where a group of codes is. */
const CHUNK_BYTES_MAX = 1 << 20;
/** Of a chunk, this part may stay empty for the sake of fewer chunks. */
const WASTE_MAX = 1 / 4;

/** Where a vector is: padded with zeros as rows of a block are. */
export interface VectorPlace {
  readonly region: Region;
  readonly address: number;
}

/** A power of two: memory comes in no other sizes. */
function chunkBytes(rows: number, rowBytes: number): number {
  const least = classBytes(CODE_GROUP * rowBytes);
  const wanted = rows * rowBytes;
  const above = Math.max(least, classBytes(wanted));
  const sizeBytes = above > least && (above - wanted) / above > WASTE_MAX ? above / 2 : above;
  return Math.min(sizeBytes, Math.max(least, CHUNK_BYTES_MAX));
}

/**
 * A piece of a list that never moves: codes of one shift, and the slots of their rows. A row that goes leaves a gap, for
 * another to fill, so that a search that paused in the chunk misses nothing.
 *
 *   codes: capacity × codeBytes | slots: capacity × u32, NO_SLOT where there is no row
 */
export class ListChunk {
  readonly region: Region;
  readonly capacity: number;
  readonly slots: Uint32Array;
  /** Positions from here on were never used. */
  end = 0;
  /** No component of its rows is larger than this in magnitude. It does not shrink when rows go. */
  largestComponent = 0;
  #gaps = 0;

  /** Throws `capacity_exceeded`. `rows`: how many are to come; there may be room for fewer. */
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

  get hasRoom(): boolean {
    return this.#gaps > 0 || this.end < this.capacity;
  }

  codeAddress(position: number): number {
    return this.region.address + position * this.shape.codeBytes;
  }

  /** Adds a row; there must be room. `largest`: its largest component in magnitude. */
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
