/**
 * A filter for one record's metadata. It gives the results of `MetadataIndex.select` without an index.
 *
 * A record is parsed and visited once, whatever the number of tests. Each value costs one look-up for the tests at its
 * path, and one for the operands that equal it. Ranges are compared with the least and the greatest value.
 */
import { unreachable } from '../../shared/errors/errors.js';
import { mapKey } from '../../shared/hashing/mapKey.js';
import { NumberTable } from '../../shared/hashing/numberTable.js';
import {
  type Filter,
  type Json,
  type Order,
  PATH_SEPARATOR,
  readsTexts,
  type Test,
  type WordsTest,
} from '../../shared/model/filter.js';
import { isoInstant } from '../../shared/model/isoDate.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import { type Analyser, PLAIN } from '../text/analyser.js';
import { textOf } from '../text/textIndex.js';
import { WORK } from './effort.js';
import { forEachValue, type MetadataObject, metadataObject } from './metadataObject.js';
import { Needle } from './needle.js';
import { pathKey } from './pathKey.js';
import { Prefixes } from './prefixes.js';
import { kindOf, type TermKind, ValueTerms } from './terms.js';
import { WordTest } from './wordTest.js';

/** Whether a filter, or a part of it, holds for the record that was visited last. */
type Holds = () => boolean;

/** Whether the test holds for exactly the records that `PathTests` and `PathIndex.select` do not find. */
export const isNegated = (test: Test): boolean =>
  test.kind === 'ne' || test.kind === 'nin' || (test.kind === 'exists' && !test.value);

/** Returns the key of a test's path. */
export const pathOf = (path: readonly string[]): string => pathKey(path.join(PATH_SEPARATOR));

/** Characters of short texts that are analysed in one step. */
const CHARS_PER_STEP = 128;
/** Length of a long text, as which each text counts. */
const TEXT_CHARS = 16_384;

/** The work of judging a record. */
export class RecordWork {
  #ofRecord: number = WORK.record;
  #ofByte: number = WORK.byte;
  readonly #ofChar: number;

  /** `filter`: undefined for reading a record without one. */
  constructor(filter: Filter | undefined, analyser: Analyser) {
    this.#ofChar = charWork(analyser);
    if (filter === undefined) return;
    if (readsTexts(filter)) this.#ofRecord += this.#ofChar * TEXT_CHARS;
    this.#add(filter);
  }

  /** `sizeBytes`: of the metadata. */
  of(sizeBytes: number): number {
    return this.#ofRecord + this.#ofByte * sizeBytes;
  }

  #add(filter: Filter): void {
    this.#ofRecord += WORK.evaluated;
    switch (filter.op) {
      case 'and':
      case 'or':
        for (const part of filter.of) this.#add(part);
        return;
      case 'not':
        this.#add(filter.of);
        return;
      case 'test':
        this.#ofByte += this.#byteWork(filter.test);
        return;
      case 'text':
        return;
      default:
        unreachable(filter);
    }
  }

  #byteWork({ kind }: Test): number {
    if (kind === 'prefix') return WORK.begunByte;
    if (kind === 'contains') return WORK.soughtByte;
    return kind === 'words' ? this.#ofChar : 0;
  }
}

/** Work of a character of a text whose words are compared. */
export const charWork = ({ isStemming }: Analyser): number => (isStemming ? WORK.stemmedChar : WORK.wordChar);

export class RecordFilter {
  /** Whether `matches` needs the text of the record. */
  readonly readsText: boolean;
  /** Whether `analyse` must run before `matches`, which would take milliseconds otherwise. */
  readonly isSlow: boolean;
  readonly #paths = new Map<string, PathTests>();
  readonly #operandTerms = new ValueTerms();
  readonly #holds: Holds;
  /** Terms of the text of the record that was visited last. */
  #words: readonly string[] = [];
  /** Terms of the texts of the record that was analysed last. */
  readonly #analysed = new Map<string, readonly string[]>();

  constructor(
    filter: Filter,
    private readonly analyser: Analyser = PLAIN,
  ) {
    this.readsText = readsTexts(filter);
    this.#holds = this.#compiled(filter);
    const paths = [...this.#paths.values()];
    this.isSlow = analyser.isStemming && (this.readsText || paths.some(({ readsWords }) => readsWords));
  }

  /** Finds the terms of a record for its next `matches`. */
  *analyse(stored: Uint8Array | null, text: Uint8Array | null = null): Steps<void> {
    this.#analysed.clear();
    const texts = this.readsText && text !== null ? [textOf(text)] : [];
    const object = metadataObject(stored);
    if (object !== undefined) this.#addWorded(object, texts);
    let chars = 0;
    for (const one of texts) {
      this.#analysed.set(one, yield* this.analyser.inSteps(one));
      chars += 1 + one.length;
      if (chars < CHARS_PER_STEP) continue;
      chars = 0;
      yield;
    }
  }

  #addWorded(object: MetadataObject, texts: string[]): void {
    forEachValue(object, (path, value) => {
      if (typeof value === 'string' && this.#paths.get(path)?.readsWords) texts.push(value);
    });
  }

  /** Whether stored metadata is a JSON object and matches. `text`: that of a live record, if the filter reads it. */
  matches(stored: Uint8Array | null, text: Uint8Array | null = null): boolean {
    const object = metadataObject(stored);
    const words = this.readsText && text !== null ? this.#termsOf(textOf(text)) : undefined;
    if (object === undefined && words === undefined) return false;
    for (const tests of this.#paths.values()) tests.begin();
    this.#words = words ?? [];
    const terms = new ValueTerms();
    if (object !== undefined) forEachValue(object, (path, value) => this.#paths.get(path)?.meet(value, terms));
    return this.#holds();
  }

  #compiled(filter: Filter): Holds {
    switch (filter.op) {
      case 'and': {
        const parts = filter.of.map((part) => this.#compiled(part));
        return () => parts.every((part) => part());
      }
      case 'or': {
        const parts = filter.of.map((part) => this.#compiled(part));
        return () => parts.some((part) => part());
      }
      case 'not': {
        const part = this.#compiled(filter.of);
        return () => !part();
      }
      case 'test': {
        const holds = this.#testsAt(pathOf(filter.path)).holds(filter.test, this.#operandTerms);
        return isNegated(filter.test) ? () => !holds() : holds;
      }
      case 'text': {
        const test = wordTestOf(filter.test, this.analyser);
        return () => test.isIn(this.#words);
      }
      default:
        return unreachable(filter);
    }
  }

  #termsOf(text: string): readonly string[] {
    return this.#analysed.get(text) ?? this.analyser.termsOf(text);
  }

  #testsAt(path: string): PathTests {
    const known = this.#paths.get(path);
    if (known !== undefined) return known;
    const tests = new PathTests(this.analyser, (text) => this.#termsOf(text));
    this.#paths.set(path, tests);
    return tests;
  }
}

export const wordTestOf = ({ mode, value, terms }: WordsTest, analyser: Analyser): WordTest =>
  new WordTest(mode, terms ?? analyser.termsOf(value));

/** A value that tests look for, or one of the tests, with the last record that has it. */
interface Sought {
  record: number;
}

/** `words` gives the words of the value. */
type SoughtText = Sought & { readonly isIn: (value: string, words: () => readonly string[]) => boolean };

type SoughtValue = Sought & { readonly tests: Sought[] };

/** The tests at one path, without their negation. Each holds if it holds for any value that the record has there. */
class PathTests {
  /** Number of the current record. */
  #record = 0;
  #isMet = false;
  readonly #numbers = new NumberTable();
  /** Indexed by the ordinal of the number. */
  readonly #ofNumbers: SoughtValue[] = [];
  readonly #ofTerms: { [kind in TermKind]?: Map<string, SoughtValue> } = {};
  readonly #numberRange = new Range<number>();
  readonly #stringRange = new Range<string>();
  /** Instants of the dates among the strings, and the other strings. */
  readonly #dateRange = new Range<string>();
  readonly #undatedRange = new Range<string>();
  readonly #prefixes = new Prefixes();
  readonly #texts: SoughtText[] = [];
  /** Whether a test looks for words. */
  readsWords = false;

  constructor(
    private readonly analyser: Analyser,
    private readonly termsOf: (text: string) => readonly string[],
  ) {}

  /** Returns a function that is true if the test holds, and makes `meet` look for it. */
  holds(test: Test, terms: ValueTerms): Holds {
    switch (test.kind) {
      case 'eq':
      case 'ne':
        return this.#isAmong([test.value], terms);
      case 'in':
      case 'nin':
        return this.#isAmong(test.values, terms);
      case 'gt':
      case 'gte':
      case 'lt':
      case 'lte':
        return typeof test.value === 'number'
          ? this.#numberRange.holds(test.kind, test.value)
          : this.#stringIs(test.kind, test.value);
      case 'prefix': {
        const prefix = this.#prefixes.add(test.value);
        return () => prefix.record === this.#record;
      }
      case 'contains': {
        const needle = new Needle(test.value);
        return this.#hasText((value) => needle.isIn(value));
      }
      case 'words': {
        const words = wordTestOf(test, this.analyser);
        this.readsWords = true;
        return this.#hasText((_, tokens) => words.isIn(tokens()));
      }
      case 'exists':
        return () => this.#isMet;
      default:
        return unreachable(test);
    }
  }

  /** Begins another record. */
  begin(): void {
    this.#record += 1;
    this.#isMet = false;
    this.#numberRange.clear();
    this.#stringRange.clear();
    this.#dateRange.clear();
    this.#undatedRange.clear();
  }

  /** Visits a value. `terms`: those of the record. */
  meet(value: Json, terms: ValueTerms): void {
    this.#isMet = true;
    if (typeof value === 'number') {
      this.#numberRange.meet(value);
      if (this.#numbers.size > 0) this.#found(this.#ofNumbers[this.#numbers.find(value) ?? -1]);
      return;
    }
    if (typeof value === 'string') this.#meetString(value);
    const sought = this.#ofTerms[kindOf(value)];
    if (sought !== undefined) this.#found(sought.get(mapKey(terms.of(value))));
  }

  #meetString(value: string): void {
    this.#stringRange.meet(value);
    if (this.#dateRange.isAsked) {
      const instant = isoInstant(value);
      if (instant === undefined) this.#undatedRange.meet(value);
      else this.#dateRange.meet(instant);
    }
    this.#prefixes.meet(value, this.#record);
    let words: readonly string[] | undefined;
    const wordsOnce = (): readonly string[] => {
      words ??= this.termsOf(value);
      return words;
    };
    for (const text of this.#texts)
      if (text.record !== this.#record && text.isIn(value, wordsOnce)) text.record = this.#record;
  }

  #stringIs(order: Order, bound: string): Holds {
    const instant = isoInstant(bound);
    if (instant === undefined) return this.#stringRange.holds(order, bound);
    const isDate = this.#dateRange.holds(order, instant);
    const isUndated = this.#undatedRange.holds(order, bound);
    return () => isDate() || isUndated();
  }

  #hasText(isIn: SoughtText['isIn']): Holds {
    const text: SoughtText = { record: 0, isIn };
    this.#texts.push(text);
    return () => text.record === this.#record;
  }

  #found(sought: SoughtValue | undefined): void {
    if (sought === undefined || sought.record === this.#record) return;
    sought.record = this.#record;
    for (const test of sought.tests) test.record = this.#record;
  }

  #isAmong(values: readonly Json[], terms: ValueTerms): Holds {
    const test: Sought = { record: 0 };
    for (const value of values) this.#soughtOf(value, terms).tests.push(test);
    return () => test.record === this.#record;
  }

  #soughtOf(value: Json, terms: ValueTerms): SoughtValue {
    if (typeof value === 'number') {
      const ordinal = this.#numbers.add(value);
      this.#ofNumbers[ordinal] ??= { record: 0, tests: [] };
      return this.#ofNumbers[ordinal];
    }
    const kind = kindOf(value);
    this.#ofTerms[kind] ??= new Map();
    const key = mapKey(terms.of(value));
    const known = this.#ofTerms[kind].get(key);
    if (known !== undefined) return known;
    const sought: SoughtValue = { record: 0, tests: [] };
    this.#ofTerms[kind].set(key, sought);
    return sought;
  }
}

/** The least and the greatest of the values met, which decide every test of order. */
class Range<Value extends number | string> {
  isAsked = false;
  #least: Value | undefined;
  #greatest: Value | undefined;

  clear(): void {
    this.#least = undefined;
    this.#greatest = undefined;
  }

  meet(value: Value): void {
    if (!this.isAsked) return;
    if (this.#least === undefined || value < this.#least) this.#least = value;
    if (this.#greatest === undefined || value > this.#greatest) this.#greatest = value;
  }

  holds(order: Order, bound: Value): Holds {
    this.isAsked = true;
    switch (order) {
      case 'gt':
        return () => this.#greatest !== undefined && this.#greatest > bound;
      case 'gte':
        return () => this.#greatest !== undefined && this.#greatest >= bound;
      case 'lt':
        return () => this.#least !== undefined && this.#least < bound;
      case 'lte':
        return () => this.#least !== undefined && this.#least <= bound;
    }
  }
}
