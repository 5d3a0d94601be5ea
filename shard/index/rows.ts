/** The rows of a generation in three columns of 1 to 8 bytes a row (`kernel/column.ts`): slot, record and ordinal. */
import { Column } from '../kernel/column.js';
import type { SlotSet } from '../kernel/slotSet.js';

/** In place of a slot: the index has no row here, or must not find it. */
export const NO_SLOT = 0xffff_ffff;
const NO_ORDINAL = 0xffff_ffff;
/** In place of a record id: the row is gone. Its record may have another row. */
export const NO_RECORD = 0;

/**
 * The rows of a generation: the slot and the record of each ordinal, and the ordinal of each slot. Rows with both are
 * covered: they are found through the index. The other live rows are the tail, which is searched exactly.
 */
export class Rows {
  /** Record of each ordinal. */
  readonly #recordIds = new Column(NO_RECORD);
  /** Slot of each ordinal. */
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

  /** Copy of the record ids by ordinal; NO_RECORD for a row that is gone. */
  get recordIds(): Float64Array {
    return this.#recordIds.toFloat64();
  }

  /** Returns the record id of an ordinal; NO_RECORD for a row that is gone. */
  recordIdOf(ordinal: number): number {
    return this.#recordIds.get(ordinal);
  }

  /** Returns the slot of an ordinal; NO_SLOT if its row is not covered. */
  slotOf(ordinal: number): number {
    return this.#slots.get(ordinal);
  }

  /** Returns the ordinal of a covered row; undefined for other rows. */
  ordinalOf(slot: number): number | undefined {
    const ordinal = this.#ordinals.get(slot);
    return ordinal === NO_ORDINAL ? undefined : ordinal;
  }

  /** Gives a row the next ordinal, and returns it. `slot`: NO_SLOT if the index must not find the row. */
  add(recordId: number, slot: number): number {
    const ordinal = this.count;
    this.#recordIds.push(recordId);
    this.#slots.push(slot);
    if (slot === NO_SLOT) return ordinal;
    this.#ordinals.set(slot, ordinal);
    this.covered.add(slot);
    return ordinal;
  }

  /** Makes a covered row one that the index does not find. Returns its ordinal; undefined if it is not covered. */
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
