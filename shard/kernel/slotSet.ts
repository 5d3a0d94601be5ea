import type { BlockShape } from './blockShape.js';
import { bitmapBytesOf } from './blockShape.js';

interface Part {
  readonly bits: Uint32Array;
  count: number;
}

/** A set of slots of one collection, as bitmaps that lie as its blocks do: what a filter hands to a scan. */
export class SlotSet {
  readonly #parts: (Part | undefined)[] = [];
  #count = 0;

  constructor(private readonly shape: BlockShape) {}

  get count(): number {
    return this.#count;
  }

  add(slot: number): void {
    this.#set(slot, true);
  }

  delete(slot: number): void {
    this.#set(slot, false);
  }

  has(slot: number): boolean {
    const index = this.shape.blockOf(slot);
    const row = slot - this.shape.firstSlot(index);
    return ((this.#parts[index]?.bits[row >>> 5] ?? 0) >>> (row & 31)) % 2 === 1;
  }

  /** Slots of block `index` that are in the set. */
  countIn(index: number): number {
    return this.#parts[index]?.count ?? 0;
  }

  /** The bitmap of block `index`, as `Block.live`; undefined where nothing of the block is in the set. */
  bitmap(index: number): Uint32Array | undefined {
    const part = this.#parts[index];
    return part === undefined || part.count === 0 ? undefined : part.bits;
  }

  #set(slot: number, member: boolean): void {
    if (this.has(slot) === member) return;
    const index = this.shape.blockOf(slot);
    const row = slot - this.shape.firstSlot(index);
    this.#parts[index] ??= { bits: new Uint32Array(bitmapBytesOf(this.shape.rows(index)) / 4), count: 0 };
    const part = this.#parts[index]!;
    part.bits[row >>> 5]! ^= 1 << (row & 31);
    const by = member ? 1 : -1;
    part.count += by;
    this.#count += by;
  }
}
