/**
 * The index of one metadata path: a posting for presence, a column of numbers, and sorted terms for all other values.
 */
import { unreachable } from '../../shared/errors/errors.js';
import { NumberTable } from '../../shared/hashing/numberTable.js';
import type { Json, Order, Test, WordsTest } from '../../shared/model/filter.js';
import { isoBounds, isoInstant } from '../../shared/model/isoDate.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import { BitSet } from '../kernel/bitSet.js';
import type { Analyser } from '../text/analyser.js';
import { type Effort, WORK } from './effort.js';
import { Needle } from './needle.js';
import { intervalOf, NumberColumn } from './numberColumn.js';
import { addTo, type Posting, postingBytes, postingWork, withoutSlot, withSlot } from './posting.js';
import { charWork, wordTestOf } from './recordFilter.js';
import type { SlotValues } from './slotValues.js';
import { SortedTerms } from './sortedTerms.js';
import { kindOf, prefixOf, type TermKind, ValueTerms } from './terms.js';

/** Bytes of this object and of its place in the map of paths. */
const OWN_BYTES = 300;

/** An order test of a string. */
interface StringBound {
  readonly order: Order;
  readonly value: string;
}

/** Slots of one term that are collected between two looks at the effort. */
const SLOTS_PER_LOOK = 512;

const always = (): boolean => true;
const never = (): boolean => false;

/** All values at one path, each with the slots that have it. Its parts are made when a value needs them. */
export class PathIndex {
  #present: Posting | undefined;
  #numbers: NumberColumn | undefined;
  readonly #terms: { [kind in TermKind]?: SortedTerms } = {};

  constructor(private readonly analyser: Analyser) {}

  get isEmpty(): boolean {
    return this.#present === undefined;
  }

  /** Whether a value is a long string. Only such values are doubtful. */
  get hasLongStrings(): boolean {
    return this.#terms.longStrings !== undefined;
  }

  get bytes(): number {
    const parts = [this.#numbers, ...Object.values(this.#terms)];
    return parts.reduce((sum, part) => sum + (part?.bytes ?? 0), OWN_BYTES + postingBytes(this.#present));
  }

  /**
   * Adds a value; it may be called again with equal arguments. The collection has at most `slots` slots; `terms` are
   * those of the record.
   */
  add(value: Json, slot: number, slots: number, terms: ValueTerms): void {
    this.#present = withSlot(this.#present, slot, slots);
    if (typeof value === 'number') {
      this.#numbers ??= new NumberColumn();
      this.#numbers.add(value, slot, slots);
    } else {
      const kind = kindOf(value);
      this.#terms[kind] ??= new SortedTerms();
      this.#terms[kind].add(terms.of(value), slot, slots);
    }
  }

  /** Removes a value. Call it with every value that was added for the slot. */
  remove(value: Json, slot: number, terms: ValueTerms): void {
    if (this.#present !== undefined) this.#present = withoutSlot(this.#present, slot);
    if (typeof value === 'number') this.#numbers?.remove(slot);
    else this.#terms[kindOf(value)]?.remove(terms.of(value), slot);
  }

  /**
   * Adds to `matching` the slots with a value that passes the test, without its negation. If only the full text of a
   * value decides, the slot is added to `doubtful`. The result is right for slots that are not written between two
   * steps.
   */
  *select(test: Test, matching: BitSet, doubtful: BitSet, effort: Effort): Steps<void> {
    switch (test.kind) {
      case 'eq':
      case 'ne':
        return yield* this.#equal([test.value], matching, effort);
      case 'in':
      case 'nin':
        return yield* this.#equal(test.values, matching, effort);
      case 'gt':
      case 'gte':
      case 'lt':
      case 'lte':
        if (typeof test.value === 'string')
          return yield* this.#ordered({ order: test.kind, value: test.value }, matching, doubtful, effort);
        if (this.#numbers !== undefined)
          yield* this.#numbers.within(intervalOf(test.kind, test.value), matching, effort);
        return;
      case 'prefix':
        return yield* this.#beginning(test.value, matching, doubtful, effort);
      case 'contains':
        return yield* this.#containing(test.value, matching, doubtful, effort);
      case 'words':
        return yield* this.#worded(test, matching, doubtful, effort);
      case 'exists':
        return this.#add(this.#present, matching, effort);
      default:
        unreachable(test);
    }
  }

  /**
   * Adds the values of all slots, in steps between which the index may change. The result is complete for slots that
   * are not written in between.
   */
  *collect(into: SlotValues, effort: Effort): Steps<void> {
    const { strings, longStrings, others } = this.#terms;
    if (this.#numbers !== undefined) yield* this.#numbers.collect(into, effort);
    if (strings !== undefined) yield* collectTerms(strings, into, (term) => into.addString(term), effort);
    if (longStrings !== undefined) yield* collectTerms(longStrings, into, (term) => into.addLongString(term), effort);
    if (others === undefined) return;
    const terms = new ValueTerms();
    for (const value of [null, false, true]) {
      const slots = others.of(terms.of(value));
      if (slots !== undefined) yield* collectSlots(slots, into, into.ordinalOf(value), effort);
    }
  }

  *#beginning(value: string, matching: BitSet, doubtful: BitSet, effort: Effort): Steps<void> {
    const { strings, longStrings } = this.#terms;
    const isUpTo = (term: string): boolean => term < value || term.startsWith(value);
    if (strings !== undefined) yield* strings.between((term) => term < value, isUpTo, matching, effort);
    if (longStrings === undefined) return;
    // The kept prefix of a long string decides, unless the value is longer than it.
    const kept = prefixOf(value);
    const isPast = (term: string): boolean => prefixOf(term) < kept || term.startsWith(kept);
    const found = kept === value ? matching : doubtful;
    yield* longStrings.between((term) => prefixOf(term) < kept, isPast, found, effort);
  }

  *#containing(value: string, matching: BitSet, doubtful: BitSet, effort: Effort): Steps<void> {
    const { strings, longStrings } = this.#terms;
    const needle = new Needle(value);
    for (const [term, slots] of strings?.each() ?? []) {
      effort.spend(WORK.sought + WORK.term * term.length);
      if (needle.isIn(term)) this.#add(slots, matching, effort);
      if (effort.endsStep()) yield;
    }
    for (const [term, slots] of longStrings?.each() ?? []) {
      effort.spend(WORK.sought);
      this.#add(slots, needle.isIn(prefixOf(term)) ? matching : doubtful, effort);
      if (effort.endsStep()) yield;
    }
  }

  *#worded(test: WordsTest, matching: BitSet, doubtful: BitSet, effort: Effort): Steps<void> {
    const { strings, longStrings } = this.#terms;
    const words = wordTestOf(test, this.analyser);
    const ofChar = charWork(this.analyser);
    for (const [term, slots] of strings?.each() ?? []) {
      effort.spend(WORK.sought + ofChar * term.length);
      if (words.isIn(this.analyser.termsOf(term))) this.#add(slots, matching, effort);
      if (effort.endsStep()) yield;
    }
    for (const [, slots] of longStrings?.each() ?? []) {
      effort.spend(WORK.sought);
      this.#add(slots, doubtful, effort);
      if (effort.endsStep()) yield;
    }
  }

  /** Adds the slots of short strings that are above the instant, or below it. Other strings compare with `value`. */
  *#dated({ order, value }: StringBound, instant: string, matching: BitSet, effort: Effort): Steps<void> {
    const { strings } = this.#terms;
    if (strings === undefined) return;
    const { from, to } = isoBounds(instant);
    const isUpwards = order === 'gt' || order === 'gte';
    yield* isUpwards
      ? strings.between((term) => term < to, always, matching, effort)
      : strings.between(never, (term) => term <= from, matching, effort);
    for (const [term, slots] of strings.each(from)) {
      if (term >= to) return;
      effort.spend(WORK.sought + WORK.term * term.length);
      const known = isoInstant(term);
      if (known === undefined ? isOrdered(order, term, value) : isOrdered(order, known, instant))
        this.#add(slots, matching, effort);
      if (effort.endsStep()) yield;
    }
  }

  *#equal(values: readonly Json[], matching: BitSet, effort: Effort): Steps<void> {
    const numbers = new NumberTable();
    const terms = new ValueTerms();
    for (const value of values) {
      if (typeof value === 'number') numbers.add(value);
      else {
        this.#add(this.#terms[kindOf(value)]?.of(terms.of(value)), matching, effort);
        effort.spend(WORK.find);
        if (effort.endsStep()) yield;
      }
    }
    if (numbers.size > 0 && this.#numbers !== undefined) yield* this.#numbers.among(numbers, matching, effort);
  }

  *#ordered(bound: StringBound, matching: BitSet, doubtful: BitSet, effort: Effort): Steps<void> {
    const { order, value } = bound;
    const isUpwards = order === 'gt' || order === 'gte';
    const isBelow =
      order === 'gt' || order === 'lte'
        ? (term: string): boolean => term <= value
        : (term: string): boolean => term < value;
    const { strings, longStrings } = this.#terms;
    const instant = isoInstant(value);
    if (instant !== undefined) yield* this.#dated(bound, instant, matching, effort);
    else if (strings !== undefined)
      yield* isUpwards
        ? strings.between(isBelow, always, matching, effort)
        : strings.between(never, isBelow, matching, effort);
    if (longStrings === undefined) return;
    // A long string with another prefix than the value's is above or below the value if its prefix is.
    const prefix = prefixOf(value);
    const isBefore = (term: string): boolean => prefixOf(term) < prefix;
    const isUpTo = (term: string): boolean => prefixOf(term) <= prefix;
    yield* isUpwards
      ? longStrings.between(isUpTo, always, matching, effort)
      : longStrings.between(never, isBefore, matching, effort);
    yield* longStrings.between(isBefore, isUpTo, doubtful, effort);
  }

  #add(slots: Posting | undefined, matching: BitSet, effort: Effort): void {
    if (slots === undefined) return;
    addTo(matching, slots);
    effort.spend(postingWork(slots));
  }
}

function isOrdered(order: Order, value: string, bound: string): boolean {
  switch (order) {
    case 'gt':
      return value > bound;
    case 'gte':
      return value >= bound;
    case 'lt':
      return value < bound;
    case 'lte':
      return value <= bound;
  }
}

function* collectTerms(
  terms: SortedTerms,
  into: SlotValues,
  add: (term: string) => number,
  effort: Effort,
): Steps<void> {
  for (const [term, slots] of terms.each()) {
    effort.spend(WORK.find);
    yield* collectSlots(slots, into, add(term), effort);
    if (effort.endsStep()) yield;
  }
}

function* collectSlots(slots: Posting, into: SlotValues, ordinal: number, effort: Effort): Steps<void> {
  if (typeof slots === 'number') return into.add(slots, ordinal);
  let added = 0;
  // Copy a list, which moves when a slot is removed from it. A set of bits does not move.
  for (const slot of slots instanceof BitSet ? slots : [...slots]) {
    into.add(slot, ordinal);
    if (++added % SLOTS_PER_LOOK > 0) continue;
    effort.spend(SLOTS_PER_LOOK * WORK.term);
    if (effort.endsStep()) yield;
  }
  effort.spend((added % SLOTS_PER_LOOK) * WORK.term);
}
