import type { Arena } from '../../kernel/arena.js';
import { allocateScratch, freeScratch, type Region } from '../../kernel/vectorMemory.js';

/** Place of a vector. The vector is padded with zeros to the stride, like a row of a block. */
export interface VectorPlace {
  readonly arena: Arena;
  readonly address: number;
}

/** Copies a vector to the arena of a list's chunk (`listChunk.ts`), whose kernel reads only that arena. Always call `free`. */
export class StagedVector {
  #region: Region | undefined;

  constructor(private readonly strideBytes: number) {}

  /**
   * Copies the vector to `arena`, unless it is there. Returns its address, valid until the next call. Throws
   * `unavailable`.
   */
  addressIn(arena: Arena, vector: VectorPlace): number {
    if (vector.arena === arena) return vector.address;
    const to = this.#componentsIn(arena);
    to.set(new Int32Array(vector.arena.buffer, vector.address, this.strideBytes / 4));
    return to.byteOffset;
  }

  /** Writes a vector to `arena`. Returns its place, valid until the next call. Throws `unavailable`. */
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
