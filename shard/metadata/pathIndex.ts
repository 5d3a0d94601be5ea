import { unreachable } from '../../shared/errors/errors.js';
import { NumberTable } from '../../shared/hashing/numberTable.js';
import type { Json, Order, Test } from '../../shared/model/filter.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import { BitSet } from '../kernel/bitSet.js';
import { intervalOf, NumberColumn } from './numberColumn.js';
import { addTo, type Posting, postingBytes, withoutSlot, withSlot } from './posting.js';
import type { SlotValues } from './slotValues.js';
import { SortedTerms } from './sortedTerms.js';
import { kindOf, prefixOf, type TermKind, termOf } from './terms.js';

/** The bytes of this object and of its place in the map of paths. */
const OWN_BYTES = 300;
/** Slots that are collected in one step: about a tenth of a millisecond. */
const SLOTS_PER_STEP = 8_192;
/** The same for terms. */
const TERMS_PER_STEP = 128;

const always = (): boolean => true;
const never = (): boolean => false;

/** All values at one path, each with the slots that have it. Its parts are made when a value needs them. */
export class PathIndex {
  #present: Posting | undefined;
  #numbers: NumberColumn | undefined;
  readonly #terms: { [kind in TermKind]?: SortedTerms } = {};

  get isEmpty(): boolean {
    return this.#present === undefined;
  }

  get bytes(): number {
    const parts = [this.#numbers, ...Object.values(this.#terms)];
    return parts.reduce((sum, part) => sum + (part?.bytes ?? 0), OWN_BYTES + postingBytes(this.#present));
  }

  /** May be called again with the same. `slots`: an upper bound of the slots of the collection. */
  add(value: Json, slot: number, slots: number): void {
    this.#present = withSlot(this.#present, slot, slots);
    if (typeof value === 'number') {
      this.#numbers ??= new NumberColumn();
      this.#numbers.add(value, slot, slots);
    } else {
      const kind = kindOf(value);
      this.#terms[kind] ??= new SortedTerms();
      this.#terms[kind].add(termOf(value), slot, slots);
    }
  }

  /** Must be called with every value that was added for the slot. */
  remove(value: Json, slot: number): void {
    if (this.#present !== undefined) this.#present = withoutSlot(this.#present, slot);
    if (typeof value === 'number') this.#numbers?.remove(slot);
    else this.#terms[kindOf(value)]?.remove(termOf(value), slot);
  }

  /**
   * Adds the slots with a value that the test, without its negation, holds for to `matching`. Where only a value's own
   * text can tell, the slot is added to `doubtful`.
   */
  select(test: Test, matching: BitSet, doubtful: BitSet): void {
    switch (test.kind) {
      case 'eq':
      case 'ne':
        this.#equal([test.value], matching);
        return;
      case 'in':
      case 'nin':
        this.#equal(test.values, matching);
        return;
      case 'gt':
      case 'gte':
      case 'lt':
      case 'lte':
        if (typeof test.value === 'number') this.#numbers?.within(intervalOf(test.kind, test.value), matching);
        else this.#ordered(test.kind, test.value, matching, doubtful);
        return;
      case 'exists':
        if (this.#present !== undefined) addTo(matching, this.#present);
        return;
      default:
        unreachable(test);
    }
  }

  /**
   * Adds the values of all slots, in steps, between which the index may change: it is complete for the slots that are not
   * written meanwhile.
   */
  *collect(into: SlotValues): Steps<void> {
    const { strings, longStrings, others } = this.#terms;
    if (this.#numbers !== undefined) yield* this.#numbers.collect(into);
    if (strings !== undefined) yield* collectTerms(strings, into, (term) => into.ordinalOf(term));
    if (longStrings !== undefined) yield* collectTerms(longStrings, into, (term) => into.ordinalOfLong(term));
    if (others === undefined) return;
    for (const value of [null, false, true]) {
      const slots = others.of(termOf(value));
      if (slots !== undefined) yield* collectSlots(slots, into, into.ordinalOf(value));
    }
  }

  #equal(values: readonly Json[], matching: BitSet): void {
    const numbers = new NumberTable();
    for (const value of values) {
      if (typeof value === 'number') numbers.add(value);
      else this.#terms[kindOf(value)]?.equal(termOf(value), matching);
    }
    if (numbers.size > 0) this.#numbers?.among(numbers, matching);
  }

  #ordered(order: Order, value: string, matching: BitSet, doubtful: BitSet): void {
    const isUpwards = order === 'gt' || order === 'gte';
    const isBelow =
      order === 'gt' || order === 'lte'
        ? (term: string): boolean => term <= value
        : (term: string): boolean => term < value;
    const { strings, longStrings } = this.#terms;
    if (isUpwards) strings?.between(isBelow, always, matching);
    else strings?.between(never, isBelow, matching);
    // A long string whose beginning is not that of the value is above or below it as its beginning is.
    const prefix = prefixOf(value);
    const isBefore = (term: string): boolean => prefixOf(term) < prefix;
    const isUpTo = (term: string): boolean => prefixOf(term) <= prefix;
    if (isUpwards) longStrings?.between(isUpTo, always, matching);
    else longStrings?.between(never, isBefore, matching);
    longStrings?.between(isBefore, isUpTo, doubtful);
  }
}

function* collectTerms(terms: SortedTerms, into: SlotValues, ordinalOf: (term: string) => number): Steps<void> {
  let steps = 0;
  for (const [term, slots] of terms.each()) {
    if (typeof slots === 'number') into.add(slots, ordinalOf(term));
    else yield* collectSlots(slots, into, ordinalOf(term));
    if (++steps % TERMS_PER_STEP === 0) yield;
  }
}

function* collectSlots(slots: Posting, into: SlotValues, ordinal: number): Steps<void> {
  if (typeof slots === 'number') return into.add(slots, ordinal);
  let steps = 0;
  // A list moves when a slot is removed from it; a set of bits does not.
  for (const slot of slots instanceof BitSet ? slots : [...slots]) {
    into.add(slot, ordinal);
    if (++steps % SLOTS_PER_STEP === 0) yield;
  }
}
