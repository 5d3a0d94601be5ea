/** A set of slots as one bitmap per block, so that the kernel can read the bitmap of a block in place. */
import { BitSet } from './bitSet.js';
import type { BlockShape } from './blockShape.js';

/** A set of slots of one collection: a bitmap per block, with the layout of `Block.live`. */
export class SlotSet {
  readonly #bitmaps: (BitSet | undefined)[] = [];
  #count = 0;

  constructor(private readonly shape: BlockShape) {}

  static of(shape: BlockShape, slots: BitSet): SlotSet {
    const set = new SlotSet(shape);
    for (let index = 0; shape.firstSlot(index) < 32 * slots.words.length; index++)
      set.put(index, slots.slice(shape.firstSlot(index), shape.rows(index)));
    return set;
  }

  get count(): number {
    return this.#count;
  }

  add(slot: number): void {
    const index = this.shape.blockOf(slot);
    this.#bitmaps[index] ??= BitSet.ofSize(this.shape.bitmapBits(index));
    if (this.#bitmaps[index]!.add(slot - this.shape.firstSlot(index))) this.#count++;
  }

  delete(slot: number): void {
    const index = this.shape.blockOf(slot);
    if (this.#bitmaps[index]?.delete(slot - this.shape.firstSlot(index)) === true) this.#count--;
  }

  has(slot: number): boolean {
    const index = this.shape.blockOf(slot);
    return this.#bitmaps[index]?.has(slot - this.shape.firstSlot(index)) === true;
  }

  /** Gives a bitmap to block `index`, which must be empty. The set owns the bitmap from now on. */
  put(index: number, bitmap: BitSet): void {
    if (bitmap.count === 0) return;
    this.#bitmaps[index] = bitmap;
    this.#count += bitmap.count;
  }

  /** Returns the number of slots of block `index` in the set. */
  countIn(index: number): number {
    return this.#bitmaps[index]?.count ?? 0;
  }

  /** Returns the bitmap of block `index`; undefined if no slot of it is in the set. */
  bitmap(index: number): BitSet | undefined {
    return this.countIn(index) === 0 ? undefined : this.#bitmaps[index];
  }

  /** Adds the slots below 32 × the length of `words` to a bitmap of all slots. */
  addTo(words: Uint32Array): void {
    for (const [index, bitmap] of this.#bitmaps.entries()) {
      if (bitmap === undefined) continue;
      const first = this.shape.firstSlot(index);
      const shift = first & 31;
      for (let from = 0, to = first >>> 5; from < bitmap.words.length && to < words.length; from++, to++) {
        const word = bitmap.words[from]!;
        words[to]! |= word << shift;
        // A shift by 32 would shift by 0.
        if (to + 1 < words.length) words[to + 1]! |= (word >>> 1) >>> (31 - shift);
      }
    }
  }

  /** Returns an empty set for the same collection. */
  emptied(): SlotSet {
    return new SlotSet(this.shape);
  }

  /** Returns a new set of the slots in both. */
  intersection(other: SlotSet): SlotSet {
    const both = new SlotSet(this.shape);
    for (const [index, bitmap] of this.#bitmaps.entries()) {
      const others = other.bitmap(index);
      if (bitmap !== undefined && others !== undefined) both.put(index, bitmap.clone().intersect(others));
    }
    return both;
  }

  /** Yields the slots in ascending order. */
  *[Symbol.iterator](): Generator<number> {
    for (const [index, bitmap] of this.#bitmaps.entries())
      if (bitmap !== undefined) for (const row of bitmap) yield this.shape.firstSlot(index) + row;
  }
}
