/** The judge of the moves of an alias, with hand-made calls. */
import { expect } from 'chai';
import type { ChurnCall, ChurnOutcome, ChurnWanted } from '../../../../simulate/churn/churnCalls.js';
import { judgeAlias } from '../../../../simulate/judges/aliasJudge.js';

const UNKNOWN: ChurnOutcome = { kind: 'unknown', why: 'no answer' };
const DONE: ChurnOutcome = { kind: 'done' };

const call = (startMs: number, endMs: number, wanted: ChurnWanted, outcome: ChurnOutcome): ChurnCall => ({
  ...{ wanted, via: 'c1', startMs, endMs, outcome },
});
const move = (name: string, startMs: number, endMs: number, outcome: ChurnOutcome = DONE): ChurnCall =>
  call(startMs, endMs, { op: 'move', name }, outcome);
const search = (startMs: number, endMs: number, ...tags: number[]): ChurnCall =>
  call(startMs, endMs, { op: 'searchAlias' }, { kind: 'found', tags });
const absent = (startMs: number, endMs: number): ChurnCall =>
  call(startMs, endMs, { op: 'searchAlias' }, { kind: 'absent' });
const remove = (name: string, startMs: number, endMs: number, outcome: ChurnOutcome = DONE): ChurnCall =>
  call(startMs, endMs, { op: 'delete', name }, outcome);
/** Record 1 is of collection a, record 2 of b. */
const RECORDS = ['a', 'b'].map((name, i) => call(0, 1, { op: 'insert', name, tag: i + 1 }, DONE));

const found = (...calls: ChurnCall[]): string[] =>
  judgeAlias([...RECORDS, ...calls]).map((text) => text.split('\n')[0]!);

describe('the judge of an alias', () => {
  it('accepts either collection while a move is in progress or its outcome is unknown', () => {
    const inProgress = [
      absent(2, 3),
      move('a', 4, 5),
      search(6, 7, 1),
      move('b', 8, 20),
      search(9, 10, 2),
      search(11, 12, 1),
    ];
    expect(found(...inProgress, search(21, 22, 2), search(23, 24))).to.deep.equal([]);
    expect(found(move('a', 4, 5), move('b', 6, 9, { kind: 'absent' }), absent(7, 8), search(10, 11, 1))).to.deep.equal(
      [],
    );
    expect(found(move('a', 4, 5), move('b', 6, 7, UNKNOWN), search(8, 9, 1), search(10, 11, 2))).to.deep.equal([]);
  });

  it('reports a search that shows the former collection after an answered move', () => {
    expect(found(move('a', 2, 3), move('b', 4, 5), search(6, 7, 1))).to.deep.equal(['the alias leads to a']);
    expect(found(move('a', 2, 3), search(4, 5, 1, 2))).to.deep.equal(['the alias leads to several collections']);
    expect(found(search(4, 5, 1))).to.deep.equal(['the alias was never moved anywhere']);
  });

  it('reports an alias without a collection, and the deletion of its collection', () => {
    expect(found(move('a', 2, 3), absent(4, 5))).to.deep.equal(['the alias leads to no collection']);
    expect(found(move('a', 2, 3), remove('a', 4, 5))).to.deep.equal(['a is deleted, and has the alias']);
    expect(found(move('a', 2, 3), remove('a', 4, 5, { kind: 'aliased' }))).to.deep.equal([]);
    expect(found(move('a', 2, 3), remove('b', 4, 5, { kind: 'aliased' }))).to.deep.equal([
      'b is kept, and has no alias',
    ]);
  });
});
