/** The history checker on hand-made merges, conditional writes and moves of an alias: right ones, and one with each error. */
import { expect } from 'chai';
import { checkHistory } from '../../../../soak/checker/check.js';
import type { CollectionLog, LoggedEvent } from '../../../../soak/checker/log.js';
import type { MergeManyCall, RemoveCall } from '../../../../soak/history/records.js';
import type { Call } from '../../../../soak/history.js';
import { ABSENT, asked, insertEvent, insertedIn, logOf, ok, rowOf } from '../../../../support/rigs/handMadeHistory.js';

const [A, B] = [rowOf(1, [0, 0], 1), rowOf(2, [3, 4], 2)];
const INSERTS = [insertEvent(1, A), insertEvent(2, B)];
const changed = (recordId: number, color: number): LoggedEvent => ({
  ...{ type: 'updateMetadata', recordId, metadata: { color, mark: 9 } },
});

const wrong = (log: CollectionLog, ...calls: readonly Call[]): Record<string, number> => {
  const writes = [insertedIn(log)(A, 1, 1, [0, 5]), insertedIn(log)(B, 2, 2, [10, 15])];
  return Object.fromEntries(checkHistory([...writes, ...calls], [log], { staleMs: 0, indexed: new Map() }).counts);
};

const mergeMany = (updated: number, of: MergeManyCall['of']): MergeManyCall => ({
  ...{ op: 'mergeMany', ...asked([20, 25]), of, merge: { mark: 9 }, outcome: ok({ updated, missing: [] }) },
});

const removal = (since: number, outcome: RemoveCall['outcome']): RemoveCall => ({
  ...{ op: 'delete', ...asked([30, 35]), id: 1, since, outcome },
});

describe('the history checker, on changes', () => {
  it('accepts a change of many records that keeps their colours', () => {
    const log = logOf([...INSERTS, changed(1, 1), changed(2, 2)]);
    expect(wrong(log, mergeMany(2, { ids: [1, 2, 7] }))).to.deep.equal({});
  });

  it('finds a change of many records that lacks one, has another, or changes a colour', () => {
    const one = logOf([...INSERTS, changed(1, 1)]);
    expect(wrong(one, mergeMany(1, { ids: [1, 2] }))).to.deep.equal({ 'wrong answer': 1 });
    expect(wrong(one, mergeMany(2, { ids: [1] }))).to.deep.equal({ 'wrong answer': 1 });
    expect(wrong(one, mergeMany(1, { color: 2 }))).to.deep.equal({ 'wrong answer': 1 });
    expect(wrong(logOf([...INSERTS, changed(1, 2)]), mergeMany(1, { ids: [1] }))).to.deep.equal({ 'wrong answer': 1 });
    expect(wrong(logOf(INSERTS), mergeMany(1, { ids: [1] }))).to.deep.equal({ 'wrong answer': 1, 'lost write': 1 });
  });

  it('finds a conditional write that was done although its record had changed, or refused although it had not', () => {
    const log = logOf([...INSERTS, changed(1, 1), { type: 'delete', recordId: 1 }]);
    const change = mergeMany(1, { ids: [1] });
    expect(wrong(log, change, removal(3, ok({ sequence: 4 })))).to.deep.equal({});
    expect(wrong(log, change, removal(2, ok({ sequence: 4 })))).to.deep.equal({ 'wrong answer': 1 });
    const kept = logOf([...INSERTS, changed(1, 1)]);
    expect(wrong(kept, change, removal(2, { kind: 'changed' }))).to.deep.equal({});
    expect(wrong(kept, change, removal(3, { kind: 'changed' }))).to.deep.equal({ 'wrong answer': 1 });
  });
});

describe('the history checker, on an alias', () => {
  const logs = ['a', 'b'].map((name, i) => logOf([insertEvent(1, [A, B][i]!)], new Map(), name));
  const writes = logs.map((log, i) => ({ ...insertedIn(log)([A, B][i]!, 1, 1, [0, 5]), collection: log.collection }));
  const everywhere = (times: readonly [number, number]) => ({ ...asked(times), collection: '*' });
  const move = (to: string, times: readonly [number, number]): Call => ({
    ...{ op: 'moveAlias', ...everywhere(times), to, outcome: ok({}) },
  });
  const search = (times: readonly [number, number], score: number): Call => ({
    ...{ op: 'searchAlias', ...everywhere(times), query: [0, 0], k: 1, color: null },
    outcome: ok({ ids: [1], scores: [score], sequence: undefined }),
  });
  const found = (...calls: readonly Call[]): Record<string, number> =>
    Object.fromEntries(checkHistory([...writes, ...calls], logs, { staleMs: 0, indexed: new Map() }).counts);

  it('accepts either collection during a move', () => {
    const moves = [move('a', [10, 11]), move('b', [20, 30])];
    expect(found(...moves, search([12, 13], 0), search([21, 22], 25), search([23, 24], 0))).to.deep.equal({});
  });

  it('finds the former collection after a move, and an alias that leads nowhere', () => {
    const moves = [move('a', [10, 11]), move('b', [20, 30])];
    expect(found(...moves, search([31, 32], 0))).to.deep.equal({ 'wrong search result': 1 });
    expect(found(...moves, { ...search([31, 32], 0), outcome: ABSENT } as Call)).to.deep.equal({ 'stale read': 1 });
  });
});
