import { bitCount } from './bits.js';
import type { BlockShape } from './blockShape.js';
import { bitmapBytesOf } from './blockShape.js';

const WORD_BITS = 32;

interface Part {
  readonly bits: Uint32Array;
  count: number;
}

/** A set of slots of one collection, as bitmaps that lie as its blocks do: what a filter hands to a scan. */
export class SlotSet {
  readonly #parts: (Part | undefined)[] = [];
  #count = 0;

  constructor(private readonly shape: BlockShape) {}

  /** The slots whose bit is set: slot s is bit s % 32 of word s / 32, through all blocks. */
  static ofWords(shape: BlockShape, words: Uint32Array): SlotSet {
    const set = new SlotSet(shape);
    for (let index = 0; shape.firstSlot(index) < WORD_BITS * words.length; index++) set.#take(index, words);
    return set;
  }

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

  /** Makes block `index`, which is empty yet, what `bits` says, laid out as `Block.live`. They are the set's from now on. */
  put(index: number, bits: Uint32Array): void {
    let count = 0;
    for (let i = 0; i < bits.length; i++) count += bitCount(bits[i]!);
    this.#put(index, bits, count);
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

  /** Makes block `index`, which is empty yet, what `words` have of it. */
  #take(index: number, words: Uint32Array): void {
    const rows = this.shape.rows(index);
    const first = this.shape.firstSlot(index);
    const bits = new Uint32Array(bitmapBytesOf(rows) / 4);
    const shift = first & 31;
    let count = 0;
    for (let row = 0, from = first >>> 5; row < rows && from < words.length; row += WORD_BITS, from++) {
      // A shift by 32 would be one by 0.
      const word = (words[from]! >>> shift) | (((words[from + 1] ?? 0) << 1) << (31 - shift));
      const kept = rows - row < WORD_BITS ? word & ((1 << (rows - row)) - 1) : word;
      bits[row >>> 5] = kept;
      count += bitCount(kept);
    }
    this.#put(index, bits, count);
  }

  #put(index: number, bits: Uint32Array, count: number): void {
    if (count === 0) return;
    this.#parts[index] = { bits, count };
    this.#count += count;
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
