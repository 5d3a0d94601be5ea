/** The selections of the latest filters, kept until a record is written, since many searches use one of a few filters. */
import type { Filter, Json, Test } from '../../shared/model/filter.js';
import type { BitSet } from '../kernel/bitSet.js';
import type { SlotSet } from '../kernel/slotSet.js';

/** Largest number of selections. Each takes two bits for each record. */
const KNOWN_MAX = 8;
/** Limits of a filter whose selection is kept: larger ones take longer to compare. */
const TESTS_MAX = 16;
const VALUES_MAX = 64;
const CHARS_MAX = 256;

/** A selection: the slots twice, in both forms. Nothing changes the sets. */
export interface KnownSelection {
  readonly matching: BitSet;
  readonly slots: SlotSet;
}

export class KnownSelections {
  /** Least recently used first. */
  readonly #known = new Map<string, KnownSelection>();

  /** Estimated heap bytes. */
  get bytes(): number {
    let sum = 0;
    for (const { matching } of this.#known.values()) sum += 2 * matching.words.byteLength;
    return sum;
  }

  of(key: string | undefined): KnownSelection | undefined {
    const known = key === undefined ? undefined : this.#known.get(key);
    if (known !== undefined) this.keep(key, known);
    return known;
  }

  /** Keeps a selection of the present state; does nothing without a key. */
  keep(key: string | undefined, known: KnownSelection): void {
    if (key === undefined) return;
    this.#known.delete(key);
    if (this.#known.size === KNOWN_MAX) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(key, known);
  }

  /** Call it when a record is written. */
  forget(): void {
    if (this.#known.size > 0) this.#known.clear();
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
