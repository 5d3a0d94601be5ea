import type { Arena } from '../../kernel/arena.js';
import { allocateScratch, freeScratch, type Region } from '../../kernel/vectorMemory.js';

/** Address of a vector, padded with zeros like the rows of a block. */
export interface VectorPlace {
  readonly arena: Arena;
  readonly address: number;
}

/** Copies a vector to the arena of a chunk, where the chunk's kernel can read it. Always call `free`. */
export class StagedVector {
  #region: Region | undefined;

  constructor(private readonly strideBytes: number) {}

  /** Returns the address of the vector in `arena`, valid until the next call. */
  addressIn(arena: Arena, vector: VectorPlace): number {
    if (vector.arena === arena) return vector.address;
    const to = this.#componentsIn(arena);
    to.set(new Int32Array(vector.arena.buffer, vector.address, this.strideBytes / 4));
    return to.byteOffset;
  }

  /** Writes a vector into `arena`; returns its place, valid until the next call. */
  write(arena: Arena, components: Int32Array): VectorPlace {
    const to = this.#componentsIn(arena).fill(0);
    to.set(components);
    return { arena, address: to.byteOffset };
  }

  free(): void {
    if (this.#region !== undefined) freeScratch(this.#region);
    this.#region = undefined;
  }

  #componentsIn(arena: Arena): Int32Array {
    if (this.#region?.arena !== arena) {
      this.free();
      this.#region = allocateScratch(arena, this.strideBytes);
    }
    return new Int32Array(arena.buffer, this.#region!.address, this.strideBytes / 4);
  }
}
