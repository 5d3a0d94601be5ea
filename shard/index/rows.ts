import type { SlotSet } from '../kernel/slotSet.js';

/** A slot that no row has. */
export const NO_SLOT = 0xffff_ffff;
const NO_ORDINAL = -1;

/**
 * The rows of a generation: ordinal ↔ slot, and which record each is. What is covered is found through the index; all
 * else that lives is the tail, and is searched exactly.
 */
export class Rows {
  /** By ordinal. */
  readonly #recordIds: number[] = [];
  readonly #slots: number[] = [];
  /** By slot. */
  readonly #ordinals: number[] = [];

  constructor(readonly covered: SlotSet) {}

  /** Ordinals given, those of rows that are gone included. */
  get count(): number {
    return this.#slots.length;
  }

  /** Rows that are gone. */
  get garbage(): number {
    return this.count - this.covered.count;
  }

  /** By ordinal. */
  get recordIds(): readonly number[] {
    return this.#recordIds;
  }

  /** Of a row that is gone: NO_SLOT. */
  slotOf(ordinal: number): number {
    return this.#slots[ordinal] ?? NO_SLOT;
  }

  /** Undefined where the slot's row is not covered. */
  ordinalOf(slot: number): number | undefined {
    const ordinal = this.#ordinals[slot] ?? NO_ORDINAL;
    return ordinal === NO_ORDINAL ? undefined : ordinal;
  }

  /** Gives the record the next ordinal. `slot`: NO_SLOT where it is not to be found. */
  add(recordId: number, slot: number): number {
    const ordinal = this.count;
    this.#recordIds.push(recordId);
    this.#slots.push(slot);
    if (slot !== NO_SLOT) this.#cover(ordinal, slot);
    return ordinal;
  }

  /** The row is gone, or left to the tail. Returns its ordinal; undefined where it is not covered. */
  remove(slot: number): number | undefined {
    const ordinal = this.ordinalOf(slot);
    if (ordinal === undefined) return undefined;
    this.#slots[ordinal] = NO_SLOT;
    this.#ordinals[slot] = NO_ORDINAL;
    this.covered.delete(slot);
    return ordinal;
  }

  #cover(ordinal: number, slot: number): void {
    while (this.#ordinals.length <= slot) this.#ordinals.push(NO_ORDINAL);
    this.#ordinals[slot] = ordinal;
    this.covered.add(slot);
  }
}
