/**
 * The selections of the latest filters, since many searches use one of a few filters. Records that were written since are judged
 * again when the selection is used. It is dropped when judging them would take longer than another selection.
 */
import type { Filter, Json, Test } from '../../shared/model/filter.js';
import type { BitSet } from '../kernel/bitSet.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { WrittenSlots } from './writtenSlots.js';

/** Largest number of selections. Each takes up to three bits for each record. */
const KNOWN_MAX = 8;
/** Limits of a filter whose selection is kept: larger ones take longer to compare. */
const TESTS_MAX = 16;
const VALUES_MAX = 64;
const CHARS_MAX = 256;
/** Largest work of judging the written records of a selection: they are judged in one turn. */
const WRITTEN_WORK_MAX = 100_000;

/** A selection: the slots twice, in both forms. Nothing changes the sets. */
export interface KnownSelection {
  readonly matching: BitSet;
  readonly slots: SlotSet;
  /** Work of the selection. */
  readonly work: number;
  /** Records that were written since the selection. */
  readonly written: WrittenSlots;
}

export class KnownSelections {
  /** Least recently used first. */
  readonly #known = new Map<string, KnownSelection>();

  /** Estimated heap bytes. */
  get bytes(): number {
    let sum = 0;
    for (const { matching } of this.#known.values()) sum += 3 * matching.words.byteLength;
    return sum;
  }

  of(key: string | undefined): KnownSelection | undefined {
    const known = key === undefined ? undefined : this.#known.get(key);
    if (known !== undefined) this.keep(key, known);
    return known;
  }

  /** Keeps a selection, if there is a key, and returns its slots. */
  keep(key: string | undefined, known: KnownSelection): SlotSet {
    if (key === undefined) return known.slots;
    this.#known.delete(key);
    if (this.#known.size === KNOWN_MAX) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(key, known);
    return known.slots;
  }

  /** Call it when a record is written. `sizeBytes`: see `WrittenSlots.add`. */
  wrote(slot: number, sizeBytes?: number): void {
    if (this.#known.size === 0) return;
    for (const [key, { work, written }] of this.#known) {
      written.add(slot, sizeBytes);
      if (written.work > Math.min(work, WRITTEN_WORK_MAX)) this.#known.delete(key);
    }
  }
}

/** Returns a text that only equal filters share; undefined for a large filter, and for one that tests texts or words. */
export const keyOf = (filter: Filter): string | undefined =>
  testsIn(filter) <= TESTS_MAX ? JSON.stringify(filter) : undefined;

/** Returns the number of tests and operators; infinite for a filter without a key. */
function testsIn(filter: Filter): number {
  switch (filter.op) {
    case 'test':
      return areShort(filter.path) && isShort(filter.test) ? 1 : Number.POSITIVE_INFINITY;
    case 'not':
      return 1 + testsIn(filter.of);
    case 'and':
    case 'or':
      return filter.of.length > TESTS_MAX
        ? Number.POSITIVE_INFINITY
        : filter.of.reduce((sum, part) => sum + testsIn(part), 1);
    case 'text':
      return Number.POSITIVE_INFINITY;
  }
}

const isShort = (test: Test): boolean =>
  test.kind !== 'words' && areShort('values' in test ? test.values : [test.value]);

const areShort = (values: readonly Json[]): boolean => values.length <= VALUES_MAX && values.every(isShortScalar);

/** An infinite number is excluded: its JSON is that of null. */
function isShortScalar(value: Json): boolean {
  if (typeof value === 'string') return value.length <= CHARS_MAX;
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'boolean' || value === null;
}
