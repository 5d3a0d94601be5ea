/** The history checker on hand-made pages of lists and searches by text: right ones, and one with each error. */
import { expect } from 'chai';
import { checkHistory } from '../../../../soak/checker/check.js';
import type { ListCall, OrderedRecord } from '../../../../soak/history/lists.js';
import type { HybridCall, TextCall } from '../../../../soak/history/texts.js';
import type { Call } from '../../../../soak/history.js';
import { asked, insertEvent, inserted, logOf, ok, rowOf } from '../../../../support/rigs/handMadeHistory.js';

const ROWS = [
  { ...rowOf(1, [0, 0], 2), text: 'red wine' },
  { ...rowOf(2, [1, 0], 1), text: 'red red rose' },
  { ...rowOf(3, [0, 2], 2), text: null },
];
const LOG = logOf(ROWS.map((row, i) => insertEvent(i + 1, row)));
const WRITES = ROWS.map((row, i) => inserted(row, i + 1, i + 1, [10 * i, 10 * i + 5]));

const wrong = (read: Call): Record<string, number> =>
  Object.fromEntries(checkHistory([...WRITES, read], [LOG], { staleMs: 0, indexed: new Map() }).counts);

const page = (records: readonly OrderedRecord[], next: string | null, wanted: Partial<ListCall> = {}): ListCall => ({
  ...{ op: 'list', ...asked([100, 105]), orderBy: 'color', isDescending: false, limit: 2, color: null, after: null },
  ...wanted,
  outcome: ok({ records, next }),
});
const [ONE, TWO, THREE] = [2, 1, 2].map((value, i) => ({ id: i + 1, value })) as [
  OrderedRecord,
  OrderedRecord,
  OrderedRecord,
];

/** BM25 of a word that two of two texts have, once or twice. */
const IDF = Math.log(1 + 0.5 / 2.5);
const bm25 = (count: number, length: number): number =>
  (IDF * count * 2.5) / (count + 1.5 * (0.25 + (0.75 * length) / 2.5));

const texts = (ids: readonly number[], textScores: readonly number[]): TextCall => ({
  ...{ op: 'searchText', ...asked([100, 105]), words: ['red'], k: 5, color: null, outcome: ok({ ids, textScores }) },
});

const hybrid = (weight: number, ids: readonly number[]): HybridCall => ({
  ...{ op: 'searchHybrid', ...asked([100, 105]), words: ['red'], k: 3, color: null, query: [0, 0], weight },
  fusion: 'rrf',
  outcome: ok({
    ids,
    scores: ids.map((id) => [0, 1, 4][id - 1]!),
    textScores: ids.map((id) => [bm25(1, 2), bm25(2, 3), 0][id - 1]!),
  }),
});

describe('the history checker, on answers about whole states', () => {
  it('accepts right pages, in either order, and after another page', () => {
    expect(wrong(page([TWO, ONE], 'next'))).to.deep.equal({});
    expect(wrong(page([ONE, THREE], 'next', { isDescending: true }))).to.deep.equal({});
    expect(wrong(page([THREE], null, { after: { next: 'next', last: ONE } }))).to.deep.equal({});
    expect(wrong(page([ONE, THREE], null, { color: 2 }))).to.deep.equal({});
  });

  it('finds a page with other records, in another order, or with another end', () => {
    const found = { 'wrong answer': 1 };
    expect(wrong(page([ONE, TWO], 'next'))).to.deep.equal(found);
    expect(wrong(page([TWO, THREE], 'next'))).to.deep.equal(found);
    expect(wrong(page([TWO], null))).to.deep.equal(found);
    expect(wrong(page([TWO, ONE], null)), 'before record 3').to.deep.equal({ 'stale read': 1 });
  });

  it('accepts exact scores of texts and finds all others', () => {
    expect(wrong(texts([2, 1], [bm25(2, 3), bm25(1, 2)]))).to.deep.equal({});
    expect(wrong(texts([2], [bm25(2, 3)]))).to.deep.equal({ 'wrong answer': 1 });
    expect(wrong(texts([2, 1], [bm25(2, 3), bm25(1, 3)]))).to.deep.equal({ 'wrong answer': 1 });
  });

  it('accepts the order of joined ranks and finds any other', () => {
    expect(wrong(hybrid(0, [1, 2, 3]))).to.deep.equal({});
    expect(wrong(hybrid(1, [2, 1, 3]))).to.deep.equal({});
    expect(wrong(hybrid(1, [1, 2, 3]))).to.deep.equal({ 'wrong answer': 1 });
  });
});
