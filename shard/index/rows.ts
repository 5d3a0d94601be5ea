/** Ordinal ↔ slot ↔ record of a generation: 3 columns of 1 to 8 bytes a row (`kernel/column.ts`). */
import { Column } from '../kernel/column.js';
import type { SlotSet } from '../kernel/slotSet.js';

/** Slot of a row that is gone, and of a record without a vector. */
export const NO_SLOT = 0xffff_ffff;
const NO_ORDINAL = 0xffff_ffff;
/** Record id of a row that is gone: its record may have another row. */
export const NO_RECORD = 0;

/**
 * The rows of a generation: ordinal ↔ slot, and the record of each. Covered rows are found through the index. The other
 * live rows are the tail, which is searched exactly.
 */
export class Rows {
  /** Record of each ordinal, then slot of each ordinal. */
  readonly #recordIds = new Column(NO_RECORD);
  readonly #slots = new Column(NO_SLOT);
  /** Ordinal of each slot. */
  readonly #ordinals = new Column(NO_ORDINAL);

  constructor(readonly covered: SlotSet) {}

  /** Number of ordinals, including those of rows that are gone. */
  get count(): number {
    return this.#slots.length;
  }

  /** Number of rows that are gone. */
  get garbage(): number {
    return this.count - this.covered.count;
  }

  /** Copy of the records by ordinal; NO_RECORD for a row that is gone. */
  get recordIds(): Float64Array {
    return this.#recordIds.toFloat64();
  }

  /** Returns NO_SLOT for a row that is gone. */
  slotOf(ordinal: number): number {
    return this.#slots.get(ordinal);
  }

  /** Returns undefined if the slot's row is not covered. */
  ordinalOf(slot: number): number | undefined {
    const ordinal = this.#ordinals.get(slot);
    return ordinal === NO_ORDINAL ? undefined : ordinal;
  }

  /** Gives the record the next ordinal. `slot`: NO_SLOT if the index must not find it. */
  add(recordId: number, slot: number): number {
    const ordinal = this.count;
    this.#recordIds.push(recordId);
    this.#slots.push(slot);
    if (slot === NO_SLOT) return ordinal;
    this.#ordinals.set(slot, ordinal);
    this.covered.add(slot);
    return ordinal;
  }

  /** Removes a row, or leaves it to the tail. Returns its ordinal; undefined if it is not covered. */
  remove(slot: number): number | undefined {
    const ordinal = this.ordinalOf(slot);
    if (ordinal === undefined) return undefined;
    this.#slots.set(ordinal, NO_SLOT);
    this.#recordIds.set(ordinal, NO_RECORD);
    this.#ordinals.set(slot, NO_ORDINAL);
    this.covered.delete(slot);
    return ordinal;
  }
}
