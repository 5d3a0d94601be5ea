import type { VectorMemory } from '../../kernel/vectorMemory.js';
import type { CodeShape } from './codeShape.js';
import { ListChunk, type VectorPlace } from './listChunk.js';

/** A list grows by this part of itself, and no less than this. */
const GROWTH = 1 / 4;
const GROWTH_MIN = 8;

export interface ListsShape {
  readonly memory: VectorMemory;
  readonly codes: CodeShape;
  readonly strideBytes: number;
  /** What most rows can be cut with. Others have chunks of their own, so that an outlier makes none but itself coarse. */
  readonly usualShift: number;
}

/** The rows that are nearest to one centroid, as codes. */
export class InvertedList {
  readonly chunks: ListChunk[] = [];
  /** Rows that will be added soon. */
  expected = 0;
  #count = 0;

  constructor(private readonly shape: ListsShape) {}

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.chunks.reduce((sum, { region }) => sum + region.sizeBytes, 0);
  }

  /** Throws `capacity_exceeded`, and has then not added it. */
  add(slot: number, vector: VectorPlace): void {
    const { codes, strideBytes, usualShift } = this.shape;
    const largest = vector.region.arena.kernel.largestComponent(vector.address, strideBytes) >>> 0;
    const shift = Math.max(usualShift, codes.shiftFor(2 * largest));
    const chunk = this.chunks.find((each) => each.shift === shift && each.hasRoom) ?? this.#addChunk(shift);
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
