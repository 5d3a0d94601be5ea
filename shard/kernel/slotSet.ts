/** A set of slots as one bitmap per block, so that the kernel can read the bitmap of a block in place. */
import { BitSet } from './bitSet.js';
import type { BlockShape } from './blockShape.js';

/**
 * A set of slots of one collection: a bitmap per block, with the layout of `Block.live`. A set that was made from one bitmap of
 * all slots divides it when a block is asked for.
 */
export class SlotSet {
  readonly #bitmaps: (BitSet | undefined)[] = [];
  #count = 0;
  /** All slots in one bitmap, which nothing changes. */
  #whole: BitSet | undefined;
  #isDivided = true;
  #listed: Uint32Array | undefined;

  constructor(private readonly shape: BlockShape) {}

  /** Returns the set of these slots. `slots` must not change any more. */
  static of(shape: BlockShape, slots: BitSet): SlotSet {
    const set = new SlotSet(shape);
    set.#whole = slots;
    set.#isDivided = false;
    return set;
  }

  get count(): number {
    return this.#whole?.count ?? this.#count;
  }

  add(slot: number): void {
    const bitmaps = this.#own();
    const index = this.shape.blockOf(slot);
    bitmaps[index] ??= BitSet.ofSize(this.shape.bitmapBits(index));
    if (bitmaps[index]!.add(slot - this.shape.firstSlot(index))) this.#count++;
  }

  delete(slot: number): void {
    const index = this.shape.blockOf(slot);
    if (this.#own()[index]?.delete(slot - this.shape.firstSlot(index)) === true) this.#count--;
  }

  has(slot: number): boolean {
    if (this.#whole !== undefined) return this.#whole.has(slot);
    const index = this.shape.blockOf(slot);
    return this.#bitmaps[index]?.has(slot - this.shape.firstSlot(index)) === true;
  }

  /** Gives a bitmap to block `index`, which must be empty. The set owns the bitmap from now on. */
  put(index: number, bitmap: BitSet): void {
    if (bitmap.count === 0) return;
    this.#own()[index] = bitmap;
    this.#count += bitmap.count;
  }

  /** Returns the number of slots of block `index` in the set. */
  countIn(index: number): number {
    return this.#divided()[index]?.count ?? 0;
  }

  /** Returns the bitmap of block `index`; undefined if no slot of it is in the set. */
  bitmap(index: number): BitSet | undefined {
    return this.countIn(index) === 0 ? undefined : this.#bitmaps[index];
  }

  /** Returns the slots in ascending order. Do not change them. */
  get listed(): Uint32Array {
    this.#listed ??= this.#whole?.toArray() ?? Uint32Array.from(this);
    return this.#listed;
  }

  /** Returns a bitmap of the slots below `end`, which is a multiple of 32. It may be shorter. Do not change it. */
  upTo(end: number): Uint32Array {
    if (this.#whole !== undefined) return this.#whole.words.subarray(0, end / 32);
    const words = new Uint32Array(end / 32);
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
    return words;
  }

  /** Returns an empty set for the same collection. */
  emptied(): SlotSet {
    return new SlotSet(this.shape);
  }

  /** Returns a new set of the slots in both. */
  intersection(other: SlotSet): SlotSet {
    const both = new SlotSet(this.shape);
    for (const [index, bitmap] of this.#divided().entries()) {
      const others = other.bitmap(index);
      if (bitmap !== undefined && others !== undefined) both.put(index, bitmap.clone().intersect(others));
    }
    return both;
  }

  /** Returns the number of slots in both. */
  countShared(other: SlotSet): number {
    let count = 0;
    for (const [index, bitmap] of this.#divided().entries()) {
      const others = other.bitmap(index);
      if (bitmap !== undefined && others !== undefined) count += bitmap.countShared(others);
    }
    return count;
  }

  /** Yields the slots in ascending order. */
  *[Symbol.iterator](): Generator<number> {
    if (this.#whole !== undefined) return yield* this.#whole;
    for (const [index, bitmap] of this.#bitmaps.entries())
      if (bitmap !== undefined) for (const row of bitmap) yield this.shape.firstSlot(index) + row;
  }

  /** Returns the bitmaps for a change of the set. */
  #own(): (BitSet | undefined)[] {
    this.#listed = undefined;
    if (this.#whole === undefined) return this.#bitmaps;
    this.#divided();
    this.#count = this.#whole.count;
    this.#whole = undefined;
    return this.#bitmaps;
  }

  #divided(): (BitSet | undefined)[] {
    if (this.#isDivided) return this.#bitmaps;
    this.#isDivided = true;
    const { shape } = this;
    const end = 32 * this.#whole!.words.length;
    let wordCount = 0;
    let blocks = 0;
    for (; shape.firstSlot(blocks) < end; blocks++) wordCount += shape.bitmapBits(blocks) / 32;
    // One buffer for all blocks: one for each takes longer than the copy.
    const words = new Uint32Array(wordCount);
    let at = 0;
    for (let index = 0; index < blocks; index++) {
      const to = at + shape.bitmapBits(index) / 32;
      this.#bitmaps.push(this.#whole!.slice(shape.firstSlot(index), shape.rows(index), words.subarray(at, to)));
      at = to;
    }
    return this.#bitmaps;
  }
}
