import type { Arena } from '../../kernel/arena.js';
import { PLAIN } from '../../kernel/rowForm.js';
import type { VectorBlocks } from '../../kernel/vectorBlocks.js';
import { allocateScratch, freeScratch, type Region } from '../../kernel/vectorMemory.js';

/** Brings one vector at a time to the arena of a list's chunk (`listChunk.ts`), whose kernel reads only that arena. Always call `free`. */
export class StagedVector {
  #region: Region | undefined;

  constructor(private readonly vectors: VectorBlocks) {}

  /** Returns the components of a row, valid until the next call. */
  components(slot: number): Int32Array {
    return this.vectors.components(slot);
  }

  /** Returns the largest component of a row in magnitude. */
  largestOf(slot: number): number {
    const { arena } = this.#blockOf(slot).region;
    return arena.kernel.largestComponent(this.addressIn(arena, slot), this.vectors.shape.strideBytes) >>> 0;
  }

  /** Returns the address in `arena` of the vector of a row, padded with zeros. Valid until the next call. Throws `unavailable`. */
  addressIn(arena: Arena, slot: number): number {
    const block = this.#blockOf(slot);
    const row = slot - block.firstSlot;
    if (block.region.arena !== arena) return this.write(arena, this.vectors.components(slot));
    if (block.form === PLAIN) return block.vectorsAddress + row * block.strideBytes;
    const { address } = this.#regionIn(arena);
    block.copyRow(row, address);
    return address;
  }

  /** Writes components into `arena`; returns their address, valid until the next call. Throws `unavailable`. */
  write(arena: Arena, components: Int32Array): number {
    const { address } = this.#regionIn(arena);
    new Int32Array(arena.buffer, address, this.vectors.shape.strideBytes / 4).fill(0).set(components);
    return address;
  }

  free(): void {
    if (this.#region !== undefined) freeScratch(this.#region);
    this.#region = undefined;
  }

  #blockOf(slot: number) {
    const { blocks, shape } = this.vectors;
    return blocks[shape.blockOf(slot)]!;
  }

  #regionIn(arena: Arena): Region {
    if (this.#region?.arena !== arena) {
      this.free();
      this.#region = allocateScratch(arena, this.vectors.shape.strideBytes);
    }
    return this.#region!;
  }
}
