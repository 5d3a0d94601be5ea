import type { BlockShape } from './blockShape.js';
import { bitmapBytesOf } from './blockShape.js';

/** A set of slots of one collection, as bitmaps that lie as its blocks do: what a filter hands to a scan. */
export class SlotSet {
  readonly #bitmaps: (Uint32Array | undefined)[] = [];

  constructor(private readonly shape: BlockShape) {}

  add(slot: number): void {
    const index = this.shape.blockOf(slot);
    const row = slot - this.shape.firstSlot(index);
    this.#bitmaps[index] ??= new Uint32Array(bitmapBytesOf(this.shape.rows(index)) / 4);
    this.#bitmaps[index]![row >>> 5]! |= 1 << (row & 31);
  }

  /** The bitmap of block `index`, as `Block.live`; undefined where nothing of the block is in the set. */
  bitmap(index: number): Uint32Array | undefined {
    return this.#bitmaps[index];
  }
}
