/** Random records, requests and changes. Values are coarse and few, so that ties, matches and misses are frequent. */
import type { Json } from '../../../shared/model/filter.js';
import { OPERATORS } from '../model/filter.js';
import type { ModelHistory, Moment } from '../model/history.js';
import type { SeededRandom } from '../model/random.js';
import type { ModelRequest } from '../model/search.js';
import type { NewRecord } from './mirrored.js';

export const OPTIONS = ['filter', 'decay', 'text', 'hybrid', 'graph', 'past'] as const;
/** Options of a random request besides its nearest records. */
export type Option = (typeof OPTIONS)[number];

export type JsonObject = { readonly [key: string]: Json };

const WORDS = [
  'red',
  'Green',
  'blue',
  'straße',
  'Ärger',
  'naïve',
  'x1',
  '2024',
  '東京',
  'über',
  'u\u0308ber',
  'हिन्दी',
  'हिन',
  'fish',
  'ﬁsh',
  'ΟΔΟΣ',
] as const;
const BREAKS = [' ', ', ', ' - ', '\n', '! ', '/', '  '] as const;
const NUMBERS = [-1, -0.5, 0, 1, 2, 2.5, 10, 1e15] as const;
const DATES = [
  '2026-01-31',
  '2026-01-31T00:00Z',
  '2026-01-30T23:30:00-02:00',
  '2026-01-31T02:00+02',
  '2026-01-31T01:30:00.5',
  '2026-01-31t01:30:00.500z',
  '2026-02-31',
  '2026-02',
] as const;
const STRINGS = [
  '',
  'a',
  'b',
  'B',
  'ab',
  '1',
  'é',
  '😀',
  '\uffff',
  'Red, blue',
  'blue red',
  'fish '.repeat(40),
  ...DATES,
];
const KEYS = ['n', 's', 'f', 'o', 'l', 'any'] as const;
const PATHS = [...KEYS, 'o.n', 'o.s', 'o.o.n', 'l.n', 'l.o.s', 'n.n', 'absent', 'o.absent'] as const;

export class Generator {
  constructor(
    private readonly random: SeededRandom,
    private readonly dimension: number,
    /** Whether filters may test texts. */
    private readonly textFilters = true,
  ) {}

  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  int(n: number): number {
    return this.random.int(n);
  }

  pick<T>(array: readonly T[]): T {
    return this.random.pick(array);
  }

  values(): number[] {
    // Sometimes a fine value, so that close values are not always equal.
    const value = (): number => (this.chance(0.02) ? this.random.next() * 4 - 2 : this.int(5) / 2 - 1);
    return Array.from({ length: this.dimension }, value);
  }

  record(): NewRecord {
    return {
      values: this.values(),
      metadata: this.chance(0.1) ? undefined : this.metadata(),
      text: this.chance(0.3) ? null : this.text(8),
    };
  }

  /** The record with metadata bytes that are not an object, or not JSON. */
  odd(record: NewRecord): NewRecord {
    return { ...record, metadata: this.pick(['', 'no JSON', '{"n":', '[{"n":1}]', '"a"', 'null', '1', '{}']) };
  }

  metadata(): JsonObject {
    const keys = KEYS.filter(() => this.chance(0.6));
    const entries = keys.map((key): [string, Json] => [key, this.#valueOf(key, 2)]);
    // The path `o.n` also matches this key.
    if (this.chance(0.05)) entries.push(['o.n', this.#valueOf('n', 0)]);
    return Object.fromEntries(entries);
  }

  text(most: number): string {
    const words = Array.from({ length: this.int(most + 1) }, () => this.pick(WORDS));
    return words.map((word) => `${this.#cased(word)}${this.pick(BREAKS)}`).join('');
  }

  request(options: ReadonlySet<Option>): ModelRequest {
    const asks = (option: Option, probability = 0.4): boolean => options.has(option) && this.chance(probability);
    return {
      query: this.values(),
      k: this.pick([1, 1, 2, 3, 5, 10, 50, 1_000, 5_000]),
      ...(asks('filter', 0.5) ? { metadata_filter: this.filter() } : {}),
      ...(asks('decay') ? { decay_half_life_secs: this.pick([0, 1, 1, 2, 5, 60, 86_400]) } : {}),
      ...(asks('text') ? this.#textQuery(options) : {}),
      ...(asks('graph') ? { graph_rerank: this.#graphRerank() } : {}),
    };
  }

  /** Any earlier state; the empty, the first and the last ones more often than others. */
  moment(history: ModelHistory): Moment {
    const { length } = history;
    const logIndex = this.pick([0, 1, this.int(length + 1), this.int(length + 1), length - this.int(20), length]);
    return (this.chance(0.5) ? history.byTime(logIndex) : undefined) ?? history.byLogIndex(logIndex);
  }

  #textQuery(options: ReadonlySet<Option>): Pick<ModelRequest, 'query_text' | 'rerank' | 'hybrid'> {
    const query_text = this.text(4);
    if (this.chance(0.2)) return { query_text, rerank: false };
    const isHybrid = options.has('hybrid') && query_text !== '' && this.chance(0.5);
    return {
      query_text,
      ...(isHybrid ? { hybrid: this.#hybrid() } : {}),
      ...(this.chance(0.2) ? { rerank: true } : {}),
    };
  }

  #hybrid(): NonNullable<ModelRequest['hybrid']> {
    if (this.chance(0.3)) return true;
    return {
      ...(this.chance(0.7) ? { text_weight: this.pick([0, 0.25, 0.7, 1]) } : {}),
      ...(this.chance(0.7) ? { fusion: this.pick(['rrf', 'rrf', 'blend']) } : {}),
    };
  }

  filter(depth = 2): JsonObject {
    const keys = Array.from({ length: this.pick([0, 1, 1, 1, 2]) }, () => this.pick(PATHS));
    const filter: Record<string, Json> = Object.fromEntries(keys.map((key) => [key, this.#wanted(key)]));
    if (this.textFilters && this.chance(0.15)) filter.$text = { words: this.#words() };
    if (depth === 0 || this.chance(0.6)) return filter;
    const key = this.pick(['$and', '$or', '$not'] as const);
    if (key === '$not') filter[key] = this.filter(depth - 1);
    else filter[key] = Array.from({ length: 1 + this.int(3) }, () => this.filter(depth - 1));
    return filter;
  }

  #wanted(path: string): Json {
    if (this.chance(0.4)) return this.#literal(path);
    const operators = Array.from({ length: this.pick([1, 1, 2]) }, () => this.pick(OPERATORS));
    const spelt = (operator: string): string => (this.chance(0.2) ? `$${operator}` : operator);
    return Object.fromEntries(operators.map((operator) => [spelt(operator), this.#operand(operator, path)]));
  }

  #operand(operator: (typeof OPERATORS)[number], path: string): Json {
    switch (operator) {
      case 'eq':
      case 'ne':
        return this.#literal(path);
      case 'in':
      case 'nin':
        return Array.from({ length: this.int(4) }, () => this.#literal(path));
      case 'prefix':
      case 'contains': {
        // Characters: a filter with half of a surrogate pair is refused.
        const chars = [...this.pick(STRINGS)];
        const from = operator === 'prefix' ? 0 : this.int(3);
        return chars.slice(from, from + this.int(chars.length + 1)).join('');
      }
      case 'words':
        return this.#words();
      case 'exists':
        return this.chance(0.5);
      default:
        return this.chance(0.7) ? this.pick(NUMBERS) : this.pick(STRINGS);
    }
  }

  #words(): JsonObject {
    const text = this.chance(0.7) ? this.text(2) : this.pick(STRINGS);
    return { [this.pick(['all', 'any', 'phrase'])]: text };
  }

  /** Mostly a value that occurs at the path. */
  #literal(path: string): Json {
    return this.#valueOf(path.slice(path.lastIndexOf('.') + 1), 1);
  }

  #valueOf(key: string, depth: number): Json {
    const kind = this.chance(0.1) ? 'any' : key;
    switch (kind) {
      case 'n':
        return this.pick(NUMBERS);
      case 's':
        return this.pick(STRINGS);
      case 'f':
        return this.chance(0.5);
      case 'o':
        return this.#object(depth);
      case 'l':
        return Array.from({ length: this.int(4) }, () => this.#valueOf(this.pick(KEYS), depth - 1));
      default:
        return this.pick([null, true, 1, '1', 'a', [], [1], [[1]], [1, 'a']]);
    }
  }

  #object(depth: number): Json {
    if (depth <= 0) return this.pick<Json>([1, 'a', { n: 1 }, { s: 'a', n: 1 }, { n: 2.5 }]);
    const keys = ['n', 's', 'o'].filter(() => this.chance(0.6));
    return Object.fromEntries(keys.map((key) => [key, this.#valueOf(key, depth - 1)]));
  }

  #graphRerank(): NonNullable<ModelRequest['graph_rerank']> {
    return {
      ...(this.chance(0.7) ? { weight: this.pick([-1, 0, 0.15, 0.5, 1, 7]) } : {}),
      ...(this.chance(0.5) ? { seed_count: this.pick([0, 1, 2, 5, 99]) } : {}),
      ...(this.chance(0.5) ? { max_depth: this.pick([0, 1, 2, 3, 4, 99]) } : {}),
      ...(this.chance(0.5) ? { direction: this.pick(['outgoing', 'incoming', 'both'] as const) } : {}),
    };
  }

  #cased(word: string): string {
    return this.chance(0.3) ? word.toUpperCase() : word;
  }
}
