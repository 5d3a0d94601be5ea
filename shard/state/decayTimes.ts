/**
 * Insertion times by slot, 1 to 8 bytes each (`kernel/column.ts`), with the newest per block and a set of young rows.
 */
import type { BlockShape } from '../kernel/blockShape.js';
import { Column } from '../kernel/column.js';
import { SlotSet } from '../kernel/slotSet.js';

/** With fewer slots, young rows are not distinguished. */
const SLOTS_MIN = 4_096;
/**
 * Slots sampled to choose the age limit of young rows, and the intended share of young rows, met to about a fifth. A
 * much smaller share would bound few searches.
 */
const SAMPLES = 1_024;
const YOUNG_SHARE = 1 / 32;
/** New rows are young. From this share of young rows on, a new age limit is chosen. */
const YOUNG_SHARE_MAX = 1 / 16;
/** Growth in slots after which a new age limit is chosen. */
const GROWTH = 1 / 32;

/** Rows inserted after an instant. Rows are only added. */
interface Young {
  readonly afterMs: number;
  readonly rows: SlotSet;
}

/** Insertion times for decay: by slot, the newest by block, and the young rows. */
export class InsertionTimes {
  readonly #insertedMs = new Column(Number.NEGATIVE_INFINITY);
  readonly #newestMs: number[] = [];
  #young: Young | undefined;
  /** Number of slots at which the age limit is chosen next. */
  #splitAt: number;

  constructor(
    private readonly shape: BlockShape,
    slotsMin = SLOTS_MIN,
  ) {
    this.#splitAt = slotsMin;
  }

  /** Sets a slot's insertion time, before searches find its row. New slots come in order. */
  set(slot: number, insertedMs: number): void {
    this.#insertedMs.set(slot, insertedMs);
    const block = this.shape.blockOf(slot);
    this.#newestMs[block] = Math.max(this.#newestMs[block] ?? insertedMs, insertedMs);
    const young = this.#young;
    if (young !== undefined && insertedMs > young.afterMs) young.rows.add(slot);
    else young?.rows.delete(slot);
    const slots = this.#insertedMs.length;
    if (slots >= this.#splitAt || (young?.rows.count ?? 0) > YOUNG_SHARE_MAX * slots) this.#split();
  }

  /** Returns the insertion time of the slot's current or last row, in unix milliseconds. */
  of(slot: number): number {
    return this.#insertedMs.get(slot);
  }

  /** Returns an upper bound of the insertion times in block `index`. It does not fall when rows are removed. */
  newestIn(index: number): number {
    return this.#newestMs[index] ?? Number.NEGATIVE_INFINITY;
  }

  /** Young rows; undefined if there are few rows in all. Call it again after new rows. */
  get young(): Young | undefined {
    return this.#young;
  }

  /**
   * Chooses a new age limit. Looks at each row of the blocks with young rows, once per 1/32 of growth. Running searches
   * keep the previous young rows.
   */
  #split(): void {
    const slots = this.#insertedMs.length;
    const samples = Float64Array.from({ length: SAMPLES }, (_, i) =>
      this.#insertedMs.get(Math.floor(((i + 0.5) * slots) / SAMPLES)),
    ).sort();
    const young = { afterMs: samples[Math.floor((1 - YOUNG_SHARE) * SAMPLES)]!, rows: new SlotSet(this.shape) };
    this.#young = young;
    for (let block = 0; block < this.#newestMs.length; block++) {
      if (this.#newestMs[block]! <= young.afterMs) continue;
      const end = Math.min(this.shape.firstSlot(block + 1), slots);
      for (let slot = this.shape.firstSlot(block); slot < end; slot++)
        if (this.#insertedMs.get(slot) > young.afterMs) young.rows.add(slot);
    }
    this.#splitAt = Math.ceil((1 + GROWTH) * slots);
  }
}
