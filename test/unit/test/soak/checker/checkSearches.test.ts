// Covers: test/soak/checker/check.ts, test/soak/checker/multiSearch.ts, test/soak/checker/recall.ts
// Covers: test/soak/checker/indexes.ts
/**
 * The history checker on searches of several collections, over an index and as of the past, and on reported index
 * states.
 */
import { expect } from 'chai';
import { checkHistory } from '../../../../soak/checker/check.js';
import type { IndexCall } from '../../../../soak/history/indexes.js';
import type { MultiHit, MultiSearchCall, SearchCall } from '../../../../soak/history/searches.js';
import type { Call } from '../../../../soak/history.js';
import {
  asked,
  EVENTS,
  insertEvent,
  insertedIn,
  LOG,
  logOf,
  ok,
  rootAt,
  rowOf,
  search,
  stateAt,
  type Times,
  UNKNOWN,
  withReads,
} from '../../../../support/rigs/handMadeHistory.js';

const NOW: Times = [110, 120];
const STALE_MS = 2_000;

const OTHER = 'b';
const FAR = rowOf(21, [0, 6]);
/** A second collection with one record, at distance 36 from the origin. */
const OTHER_LOG = logOf([insertEvent(1, FAR)], new Map(), OTHER);
const IN_OTHER: Call = { ...insertedIn(OTHER_LOG)(FAR, 1, 1, [0, 10]), collection: OTHER };

const wrong = (calls: readonly Call[], indexed = new Map<string, string>(), log = LOG): Record<string, number> =>
  Object.fromEntries(checkHistory([...calls, IN_OTHER], [log, OTHER_LOG], { staleMs: STALE_MS, indexed }).counts);

const multi = (
  times: Times,
  k: number,
  hits: readonly (readonly [collection: string, id: number, score: number])[],
  more: Partial<MultiSearchCall> & { readonly answer?: object } = {},
): MultiSearchCall => {
  const answer = {
    hits: hits.map(([collection, id, score]): MultiHit => ({ collection, id, score })),
    searched: ['a', OTHER],
    sequences: {},
    failures: [],
    ...more.answer,
  };
  return {
    op: 'multiSearch',
    ...asked(times),
    ...{ collection: '*', collections: ['a', OTHER], query: [0, 0], k, color: null, isEventual: false },
    ...more,
    outcome: ok(answer),
  };
};

describe('the history checker, on searches of several collections', () => {
  it('accepts a right result, complete or cut at k', () => {
    const [b, far, d] = [['a', 2, 25] as const, [OTHER, 1, 36] as const, ['a', 4, 162] as const];
    for (const [k, hits] of [
      [5, [b, far, d]],
      [2, [b, far]],
      [1, [b]],
    ] as const)
      expect(wrong(withReads(multi(NOW, k, hits))), `k ${k}`).to.deep.equal({});
    const failed = { searched: ['a'], failures: [{ collection: OTHER, code: 'unavailable' }] };
    expect(wrong(withReads(multi(NOW, 5, [b, d], { answer: failed })))).to.deep.equal({});
  });

  it('reports a result with missing, stale or wrong hits', () => {
    const found: Readonly<Record<string, [MultiSearchCall, string]>> = {
      'a nearer one of the other collection left out': [
        multi(NOW, 2, [
          ['a', 2, 25],
          ['a', 4, 162],
        ]),
        'stale read',
      ],
      'one that is left out though there is room': [
        multi(NOW, 5, [
          ['a', 2, 25],
          ['a', 4, 162],
        ]),
        'stale read',
      ],
      'a hit that is gone': [
        multi(NOW, 2, [
          ['a', 1, 0],
          ['a', 2, 25],
        ]),
        'stale read',
      ],
      'a wrong score': [multi(NOW, 1, [['a', 2, 24]]), 'wrong search result'],
      'the wrong order': [
        multi(NOW, 5, [
          [OTHER, 1, 36],
          ['a', 2, 25],
          ['a', 4, 162],
        ]),
        'wrong search result',
      ],
      'more than was asked for': [
        multi(NOW, 1, [
          ['a', 2, 25],
          [OTHER, 1, 36],
        ]),
        'wrong search result',
      ],
      'a collection that the answer omits': [
        multi(NOW, 1, [['a', 2, 25]], { answer: { searched: ['a'] } }),
        'wrong search result',
      ],
      'a failure that may not be': [
        multi(NOW, 1, [['a', 2, 25]], {
          answer: { searched: ['a'], failures: [{ collection: OTHER, code: 'internal_error' }] },
        }),
        'unexpected answer',
      ],
    };
    for (const [what, [call, kind]] of Object.entries(found))
      expect(wrong(withReads(call)), what).to.deep.equal({ [kind]: 1 });
  });

  it('checks each part of an eventual result against the state that it names, and its age', () => {
    const eventually = (sequence: number, times: Times = [3_000, 3_010]): MultiSearchCall =>
      multi(times, 1, [['a', 2, 25]], { isEventual: true, answer: { sequences: { a: sequence, [OTHER]: 1 } } });
    expect(wrong(withReads(eventually(7)))).to.deep.equal({});
    expect(wrong(withReads(eventually(4)))).to.deep.equal({ 'eventual answer too old': 1 });
    expect(wrong(withReads(eventually(2, [200, 210])))).to.deep.equal({ 'wrong search result': 1 });
    const silent = multi(NOW, 1, [['a', 2, 25]], { isEventual: true });
    expect(wrong(withReads(silent))).to.include({ 'wrong search result': 1 });
  });
});

describe('the history checker, on searches over an index', () => {
  const indexed = new Map([['a', 'hnsw']]);

  it('accepts a missing record and no other error', () => {
    expect(wrong(withReads(search(NOW, [0, 0], 1, [[4, 162]])), indexed), 'a nearer one is missing').to.deep.equal({});
    expect(wrong(withReads(search(NOW, [0, 0], 1, [[4, 162]])))).to.deep.equal({ 'wrong search result': 1 });
    const found: Readonly<Record<string, [SearchCall, string]>> = {
      'fewer than there are': [search(NOW, [0, 0], 2, [[2, 25]]), 'stale read'],
      'fewer than there ever were': [search(NOW, [0, 0], 2, [[4, 162]]), 'wrong search result'],
      'a record that is gone': [search(NOW, [0, 0], 1, [[1, 0]]), 'stale read'],
      'a record that never was': [search(NOW, [0, 0], 1, [[9, 30]]), 'wrong search result'],
      'a wrong score': [search(NOW, [0, 0], 1, [[4, 161]]), 'wrong search result'],
      'the wrong order': [
        search(NOW, [0, 0], 2, [
          [4, 162],
          [2, 25],
        ]),
        'wrong search result',
      ],
    };
    for (const [what, [call, kind]] of Object.entries(found))
      expect(wrong(withReads(call), indexed), what).to.deep.equal({ [kind]: 1 });
  });

  it('reports an index that misses many records, or the newest ones', () => {
    const many = Array.from({ length: 600 }, () => search(NOW, [0, 0], 1, [[4, 162]]));
    expect(wrong(withReads(...many), indexed)).to.deep.equal({ 'poor recall': 2 });
    const right = Array.from({ length: 600 }, () => search(NOW, [0, 0], 1, [[2, 25]]));
    expect(wrong(withReads(...right), indexed)).to.deep.equal({});
  });

  it('reports an index that no client requested, or that could not be built', () => {
    const state = (times: Times, answer: object, more: object = {}): IndexCall =>
      ({
        op: 'indexState',
        ...asked(times),
        ...more,
        outcome: ok({ active: 'hnsw', desired: 'hnsw', status: 'active', error: null, ...answer }),
      }) as IndexCall;
    const ivf = state([10, 20], { desired: 'ivf', status: 'building' }, { op: 'configureIndex', kind: 'ivf' });
    expect(wrong(withReads(state([5, 8], {}), ivf, state([30, 40], { desired: 'ivf' })), indexed)).to.deep.equal({});
    expect(wrong(withReads(state([12, 15], {}), ivf), indexed), 'while it is changed').to.deep.equal({});
    for (const [what, answer] of Object.entries({
      'the wish before the last one': { desired: 'hnsw' },
      'a kind that no call named': { desired: 'ivf', active: 'bq' },
      'a failed build': { desired: 'ivf', error: 'the build has failed' },
    }))
      expect(wrong(withReads(ivf, state([30, 40], answer)), indexed), what).to.deep.equal({ 'wrong index state': 1 });
    const open = { ...ivf, outcome: UNKNOWN } as IndexCall;
    for (const desired of ['hnsw', 'ivf'])
      expect(wrong(withReads(open, state([30, 40], { desired })), indexed), desired).to.deep.equal({});
  });
});

describe('the history checker, on searches as of the past', () => {
  const past = (asOf: number, hits: readonly (readonly number[])[], answer: object = {}): SearchCall => {
    const found = search([200, 210], [0, 0], 5, hits);
    if (found.outcome.kind !== 'ok') throw new Error('it was answered');
    const { stateHash } = stateAt(Math.max(1, asOf));
    return { ...found, asOf, outcome: ok({ ...found.outcome.answer, sequence: asOf, stateHash, ...answer }) };
  };

  it('accepts exactly the state that was asked for, over an index too', () => {
    const then = [
      [1, 0],
      [2, 25],
    ];
    for (const indexed of [new Map<string, string>(), new Map([['a', 'ivf']])]) {
      expect(wrong(withReads(past(2, then)), indexed)).to.deep.equal({});
      expect(wrong(withReads(past(0, [])), indexed)).to.deep.equal({});
      expect(wrong(withReads(past(3, then)), indexed)).to.deep.equal({ 'wrong search result': 1 });
      expect(wrong(withReads(past(2, then.slice(1))), indexed)).to.deep.equal({ 'wrong search result': 1 });
    }
    expect(wrong(withReads(past(2, then, { sequence: 3 })))).to.deep.equal({ 'wrong answer': 1 });
  });

  it('reports another state hash, and a state that did not exist yet', () => {
    const known = logOf(EVENTS, new Map([[2, rootAt(2)]]));
    const hits = [
      [1, 0],
      [2, 25],
    ];
    expect(wrong(withReads(past(2, hits)), new Map(), known)).to.deep.equal({});
    expect(wrong(withReads(past(2, hits, { stateHash: rootAt(9) })), new Map(), known)).to.deep.equal({
      'wrong answer': 1,
    });
    expect(wrong(withReads({ ...past(6, []), startMs: 21, endMs: 22 }))).to.deep.equal({ 'read of the future': 1 });
  });
});
