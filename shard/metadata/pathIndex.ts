import { unreachable } from '../../shared/errors.js';
import type { Json, Order, Test } from '../../shared/filter.js';
import { intervalOf, NumberColumn } from './numberColumn.js';
import { addTo, type Posting, postingBytes, withoutSlot, withSlot } from './posting.js';
import type { Words } from './slotBits.js';
import { SortedTerms } from './sortedTerms.js';
import { abridged, PLAIN_CHARS_MAX, PREFIX_CHARS, termOf } from './term.js';

/** This object and its place in the map of paths. */
const OWN_BYTES = 300;

const always = (): boolean => true;
const never = (): boolean => false;
const prefixOf = (term: string): string => term.slice(0, PREFIX_CHARS);

/** All values at one path, each with the slots that have it. What no value needs is not made. */
export class PathIndex {
  #present: Posting | undefined;
  #numbers: NumberColumn | undefined;
  #strings: SortedTerms | undefined;
  #longStrings: SortedTerms | undefined;
  /** True, false, null, arrays and objects. */
  #others: SortedTerms | undefined;

  get isEmpty(): boolean {
    return this.#present === undefined;
  }

  get bytes(): number {
    const parts = [this.#numbers, this.#strings, this.#longStrings, this.#others];
    return parts.reduce((sum, part) => sum + (part?.bytes ?? 0), OWN_BYTES + postingBytes(this.#present));
  }

  /** May be called again with the same. `slots`: those of the collection lie below it. */
  add(value: Json, slot: number, slots: number): void {
    this.#present = withSlot(this.#present, slot, slots);
    if (typeof value === 'number') {
      this.#numbers ??= new NumberColumn();
      this.#numbers.add(value, slot, slots);
    } else if (typeof value !== 'string') {
      this.#others ??= new SortedTerms();
      this.#others.add(termOf(value), slot, slots);
    } else if (value.length <= PLAIN_CHARS_MAX) {
      this.#strings ??= new SortedTerms();
      this.#strings.add(value, slot, slots);
    } else {
      this.#longStrings ??= new SortedTerms();
      this.#longStrings.add(abridged(value), slot, slots);
    }
  }

  /** To be called with every value that was added for the slot. */
  remove(value: Json, slot: number): void {
    if (this.#present !== undefined) this.#present = withoutSlot(this.#present, slot);
    if (typeof value === 'number') this.#numbers?.remove(slot);
    else if (typeof value !== 'string') this.#others?.remove(termOf(value), slot);
    else if (value.length <= PLAIN_CHARS_MAX) this.#strings?.remove(value, slot);
    else this.#longStrings?.remove(abridged(value), slot);
  }

  /**
   * Adds the slots with a value that the test holds for to `matching`; for `ne`, `nin` and not `exists`, those that it
   * does not hold for. Where only a value's own text can tell, the slot is added to `doubtful`.
   */
  select(test: Test, matching: Words, doubtful: Words): void {
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

  #equal(values: readonly Json[], matching: Words): void {
    const numbers = new Set<number>();
    for (const value of values) {
      if (typeof value === 'number') numbers.add(value);
      else if (typeof value !== 'string') this.#others?.equal(termOf(value), matching);
      else if (value.length <= PLAIN_CHARS_MAX) this.#strings?.equal(value, matching);
      else this.#longStrings?.equal(abridged(value), matching);
    }
    if (numbers.size > 0) this.#numbers?.among(numbers, matching);
  }

  #ordered(order: Order, value: string, matching: Words, doubtful: Words): void {
    const isUpwards = order === 'gt' || order === 'gte';
    const isBelow =
      order === 'gt' || order === 'lte'
        ? (term: string): boolean => term <= value
        : (term: string): boolean => term < value;
    if (isUpwards) this.#strings?.between(isBelow, always, matching);
    else this.#strings?.between(never, isBelow, matching);
    // A long string whose beginning is not that of the value is above or below it as its beginning is.
    const prefix = prefixOf(value);
    const isBefore = (term: string): boolean => prefixOf(term) < prefix;
    const isUpTo = (term: string): boolean => prefixOf(term) <= prefix;
    if (isUpwards) this.#longStrings?.between(isUpTo, always, matching);
    else this.#longStrings?.between(never, isBefore, matching);
    this.#longStrings?.between(isBefore, isUpTo, doubtful);
  }
}
