import type { BlockShape } from '../kernel/blockShape.js';

/** Rows of fewer slots are not told apart by their age. */
const SLOTS_MIN = 4_096;
/** Slots whose times are looked at to tell young rows from the others, and the share that is to be young. */
const SAMPLES = 256;
const YOUNG_SHARE = 1 / 32;
/** Rows that come are young; when there are so many of them, all are told apart anew. */
const YOUNG_SHARE_MAX = 1 / 16;
/** And when there are so many more slots. */
const GROWTH = 1 / 32;

/** The rows that were inserted after an instant. It stays as it is but for rows that come. */
export interface Young {
  readonly afterMs: number;
  /** By block, a bit for each row, laid out as `Block.live`; none where no row is young. */
  readonly rows: readonly (Uint32Array | undefined)[];
}

interface GrowingYoung extends Young {
  readonly rows: (Uint32Array | undefined)[];
}

/** When the row of each slot was inserted, no row of a block later, and which rows are young: what decay needs to know. */
export class InsertionTimes {
  readonly #insertedMs: number[] = [];
  readonly #newestMs: number[] = [];
  #young: GrowingYoung | undefined;
  #youngCount = 0;
  /** Slots from which on rows are told apart by age, or again. */
  #splitAt: number;

  constructor(
    private readonly shape: BlockShape,
    slotsMin = SLOTS_MIN,
  ) {
    this.#splitAt = slotsMin;
  }

  /** To be called before the row of the slot can be found. Slots come in order when they are new. */
  set(slot: number, insertedMs: number): void {
    this.#insertedMs[slot] = insertedMs;
    const block = this.shape.blockOf(slot);
    this.#newestMs[block] = Math.max(this.#newestMs[block] ?? insertedMs, insertedMs);
    if (this.#young !== undefined) this.#place(this.#young, block, slot, insertedMs);
    const slots = this.#insertedMs.length;
    if (slots >= this.#splitAt || this.#youngCount > YOUNG_SHARE_MAX * slots) this.#split();
  }

  /** Of the row that has the slot, or had it last; unix milliseconds. */
  of(slot: number): number {
    return this.#insertedMs[slot]!;
  }

  /** No row of block `index` was inserted later. It does not fall when rows go. */
  newestIn(index: number): number {
    return this.#newestMs[index] ?? Number.NEGATIVE_INFINITY;
  }

  /** A few of the rows; undefined where there are few in all. Of rows that come later only the next call tells. */
  get young(): Young | undefined {
    return this.#young;
  }

  #place({ afterMs, rows }: GrowingYoung, block: number, slot: number, insertedMs: number): void {
    const row = slot - this.shape.firstSlot(block);
    const bit = 1 << (row & 31);
    const isYoung = insertedMs > afterMs;
    const wasYoung = rows[block] !== undefined && (rows[block][row >>> 5]! & bit) !== 0;
    if (isYoung === wasYoung) return;
    rows[block] ??= new Uint32Array(2 * Math.ceil(this.shape.rows(block) / 64));
    rows[block][row >>> 5]! ^= bit;
    this.#youngCount += isYoung ? 1 : -1;
  }

  /**
   * Costs a look at each row of the blocks that hold young ones, once in as many insertions as make a thirtieth of the
   * rows. Searches under way keep what was young before.
   */
  #split(): void {
    const slots = this.#insertedMs.length;
    const samples = Float64Array.from(
      { length: SAMPLES },
      (_, i) => this.#insertedMs[Math.floor(((i + 0.5) * slots) / SAMPLES)] ?? Number.NEGATIVE_INFINITY,
    ).sort();
    const young: GrowingYoung = { afterMs: samples[Math.floor((1 - YOUNG_SHARE) * SAMPLES)]!, rows: [] };
    this.#young = young;
    this.#youngCount = 0;
    for (let block = 0; block < this.#newestMs.length; block++) {
      if (this.#newestMs[block]! <= young.afterMs) continue;
      const end = Math.min(this.shape.firstSlot(block + 1), slots);
      for (let slot = this.shape.firstSlot(block); slot < end; slot++)
        if (this.#insertedMs[slot]! > young.afterMs) this.#place(young, block, slot, this.#insertedMs[slot]!);
    }
    this.#splitAt = Math.ceil((1 + GROWTH) * slots);
  }
}
