import type { Arena } from '../../kernel/arena.js';
import { MovingScratch } from '../../kernel/movingScratch.js';

/** Slot and distance. */
const ENTRY_WORDS = 2;

export interface CodeScratchSize {
  /** Rows that are wanted. */
  readonly wanted: number;
  /** Entries there is room for. */
  readonly capacity: number;
  /** The largest bitmap that is staged. */
  readonly bitmapBytes: number;
}

/** The scratch of a scan of codes, with the code of the query and the rows taken so far. */
export class CodeScratch extends MovingScratch {
  constructor(arena: Arena, query: Uint32Array, { wanted, capacity, bitmapBytes }: CodeScratchSize) {
    super(arena, arena.kernel.bitScanBytes(query.byteLength, capacity) >>> 0, bitmapBytes);
    const at = arena.kernel.beginBitScan(this.address, query.byteLength, wanted) >>> 0;
    new Uint32Array(arena.buffer, at, query.length).set(query);
  }

  /** Drops what is not among the nearest any more; returns how many entries are left. */
  keepNearest(): number {
    return this.region.arena.kernel.keepNearest(this.region.address);
  }

  /** Slots of the `count` entries that are left. */
  slots(count: number): Uint32Array {
    const { arena, address } = this.region;
    const words = new Uint32Array(arena.buffer, arena.kernel.bitEntries(address) >>> 0, count * ENTRY_WORDS);
    const slots = new Uint32Array(count);
    for (let i = 0; i < count; i++) slots[i] = words[i * ENTRY_WORDS]!;
    return slots;
  }

  /** Entries begin anew: what there was is kept elsewhere. */
  forget(): void {
    this.region.arena.kernel.forgetEntries(this.region.address);
  }
}
