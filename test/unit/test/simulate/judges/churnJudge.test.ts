/** The judge of collections that are created and dropped, with hand-made calls. */
import { expect } from 'chai';
import type { ChurnCall, ChurnOutcome, ChurnWanted } from '../../../../simulate/churn/churnCalls.js';
import { judgeChurn } from '../../../../simulate/judges/churnJudge.js';

const RULES = { collectionsMax: 2, coordinators: 2, staleMs: 1_000 };
const UNKNOWN: ChurnOutcome = { kind: 'unknown', why: 'no answer' };
const DONE: ChurnOutcome = { kind: 'done' };
const ABSENT: ChurnOutcome = { kind: 'absent' };

const call = (startMs: number, endMs: number, wanted: ChurnWanted, outcome: ChurnOutcome): ChurnCall => ({
  ...{ wanted, via: 'c1', startMs, endMs, outcome },
});
const create = (name: string, startMs: number, endMs: number, id: number, isNew = true): ChurnCall =>
  call(startMs, endMs, { op: 'create', name }, { kind: 'created', id, isNew });
const remove = (name: string, startMs: number, endMs: number, outcome: ChurnOutcome = DONE): ChurnCall =>
  call(startMs, endMs, { op: 'delete', name }, outcome);
const insert = (name: string, startMs: number, endMs: number, tag: number, outcome: ChurnOutcome = DONE): ChurnCall =>
  call(startMs, endMs, { op: 'insert', name, tag }, outcome);
const search = (name: string, startMs: number, endMs: number, ...tags: number[]): ChurnCall =>
  call(startMs, endMs, { op: 'search', name }, { kind: 'found', tags });
const under = (keyId: string, startMs: number, endMs: number, tag: number, outcome: ChurnOutcome = DONE): ChurnCall =>
  call(startMs, endMs, { op: 'insert', name: 'a', tag, keyId }, outcome);
const shred = (keyId: string, startMs: number, endMs: number, outcome: ChurnOutcome = DONE): ChurnCall =>
  call(startMs, endMs, { op: 'shred', keyId }, outcome);
const list = (startMs: number, endMs: number, ...collections: { name: string; id: number }[]): ChurnCall =>
  call(startMs, endMs, { op: 'list' }, { kind: 'listed', collections });
const full = (name: string, startMs: number, endMs: number): ChurnCall =>
  call(startMs, endMs, { op: 'create', name }, { kind: 'full' });

/** First line of each finding. */
const found = (...calls: ChurnCall[]): string[] => judgeChurn(calls, RULES).map((text) => text.split('\n')[0]!);

describe('the judge of collections that come and go', () => {
  it('accepts a right history, and either outcome where a call overlaps or its outcome is unknown', () => {
    expect(
      found(
        create('a', 0, 1, 1),
        create('a', 2, 3, 1, false),
        insert('a', 4, 5, 1),
        search('a', 6, 7, 1),
        // The outcome is unknown: from here on the collection may exist or not.
        remove('a', 8, 9, UNKNOWN),
        search('a', 10, 11, 1),
        call(12, 13, { op: 'search', name: 'a' }, ABSENT),
        create('a', 14, 15, 2),
        remove('a', 16, 20),
        // Concurrent with the deletion.
        search('a', 17, 18),
        call(17, 18, { op: 'search', name: 'a' }, ABSENT),
        call(21, 22, { op: 'search', name: 'a' }, ABSENT),
        remove('a', 23, 24, ABSENT),
        // A list may be a little old.
        list(900, 901, { name: 'a', id: 2 }),
      ),
    ).to.deep.equal([]);
  });

  it('accepts that the records under a key vanish from the start of its shred on', () => {
    const made = [create('a', 0, 1, 1), under('k', 2, 3, 1), under('l', 2, 3, 2)];
    const erased: ChurnOutcome = { kind: 'erased' };
    expect(found(...made, shred('k', 4, 9), search('a', 5, 6, 1, 2), search('a', 5, 6, 2), search('a', 10, 11, 2))).to
      .be.empty;
    expect(found(...made, shred('k', 4, 5, UNKNOWN), search('a', 6, 7, 2), search('a', 8, 9, 1, 2))).to.be.empty;
    expect(found(...made, shred('k', 4, 9), under('k', 5, 6, 3), under('k', 10, 11, 4, erased))).to.be.empty;
  });

  it('reports a record that is found after the shred of its key, and keys used or refused wrongly', () => {
    const made = [create('a', 0, 1, 1), under('k', 2, 3, 1), under('l', 2, 3, 2)];
    const past = call(
      6,
      7,
      { op: 'searchPast', name: 'a', asOf: '2026-01-01T00:00:00Z' },
      { kind: 'found', tags: [1] },
    );
    const shown = 'record 1 is found, and its key is shredded';
    expect(found(...made, shred('k', 4, 5), search('a', 6, 7, 1, 2))).to.deep.equal([shown]);
    expect(found(...made, shred('k', 4, 5), past)).to.deep.equal([shown]);
    expect(found(...made, shred('k', 4, 5), search('a', 6, 7))).to.deep.equal(['record 2 is lost']);
    expect(found(...made, shred('k', 4, 5), under('k', 6, 7, 3))).to.deep.equal([
      'an insert under k, which is shredded',
    ]);
    expect(found(...made, under('k', 6, 7, 3, { kind: 'erased' }))).to.deep.equal(['no call had shredded k']);
  });

  it('reports a collection that an answer shows after its deletion', () => {
    const gone = [create('a', 0, 1, 1), remove('a', 2, 3)];
    expect(found(...gone, create('a', 4, 5, 1, false))).to.deep.equal(['collection 1 is answered, and is gone']);
    expect(found(...gone, insert('a', 4, 5, 1))).to.deep.equal(['insert of a, which is gone']);
    expect(found(...gone, search('a', 4, 5))).to.deep.equal(['search of a, which is gone']);
    expect(found(...gone, remove('a', 4, 5))).to.deep.equal(['delete of a, which is gone']);
    expect(found(...gone, list(2_000, 2_001, { name: 'a', id: 1 }))).to.deep.equal([
      'collection 1 is listed, and is gone',
    ]);
  });

  it('treats a deletion that finds nothing as the end of every earlier collection of that name', () => {
    const made = [create('a', 0, 1, 1), insert('a', 2, 3, 1), remove('a', 4, 5, UNKNOWN)];
    expect(found(...made, search('a', 6, 7, 1))).to.deep.equal([]);
    expect(found(...made, remove('a', 6, 8, ABSENT), search('a', 7, 9, 1))).to.deep.equal([]);
    expect(found(...made, remove('a', 6, 7, ABSENT), search('a', 8, 9, 1))).to.deep.equal([
      'search of a, which is gone',
      'record 1 is of a collection that is gone',
    ]);
  });

  it('reports a collection that is lost or created a second time', () => {
    const made = create('a', 0, 1, 1);
    expect(found(made, call(2, 3, { op: 'search', name: 'a' }, ABSENT))).to.deep.equal(['a is lost']);
    expect(found(made, insert('a', 2, 3, 1, ABSENT))).to.deep.equal(['a is lost']);
    expect(found(made, create('a', 2, 3, 2))).to.deep.equal(['a is made again, and was there']);
    expect(found(made, list(2_000, 2_001))).to.deep.equal(['collection 1 is not listed']);
  });

  it('reports records that are lost, doubled or of another collection', () => {
    const made = [create('a', 0, 1, 1), insert('a', 2, 3, 1)];
    expect(found(...made, search('a', 4, 5))).to.deep.equal(['record 1 is lost']);
    expect(found(...made, search('a', 4, 5, 1, 1))).to.deep.equal(['a record is found twice']);
    expect(found(...made, search('a', 4, 5, 1, 2))).to.deep.equal(['record 2 was not inserted']);
    expect(found(...made, create('b', 2, 3, 2), search('b', 4, 5, 1))).to.deep.equal([
      'record 1 is of another collection',
    ]);
    expect(found(...made, remove('a', 6, 7), create('a', 8, 9, 2), search('a', 10, 11, 1))).to.deep.equal([
      'record 1 is of a collection that is gone',
    ]);
    expect(found(...made, insert('a', 4, 5, 2, UNKNOWN), search('a', 6, 7, 1), search('a', 8, 9, 1, 2))).to.deep.equal(
      [],
    );
  });

  it('reports collections above the limit, and a refusal below it', () => {
    const three = [create('a', 0, 1, 1), create('b', 0, 1, 2), create('c', 0, 1, 3)];
    expect(found(...three), 'two coordinators at the same moment').to.deep.equal([]);
    expect(found(...three, create('d', 2, 3, 4))).to.deep.equal(['the project has 4 collections']);
    expect(found(...three, full('d', 2, 3))).to.deep.equal([]);
    expect(found(three[0]!, full('d', 2, 3))).to.deep.equal(['refused with 1 collections']);
    expect(
      found(three[0]!, three[1]!, remove('b', 2, 3), full('d', 4, 5)),
      'a count may be a little old',
    ).to.deep.equal([]);
    expect(found(three[0]!, three[1]!, remove('b', 2, 3), full('d', 2_000, 2_001))).to.deep.equal([
      'refused with 1 collections',
    ]);
  });

  it('reports any other answer', () => {
    const wrong: ChurnOutcome = { kind: 'unexpected', why: '500 internal_error: it failed' };
    expect(found(insert('a', 0, 1, 1, wrong))).to.deep.equal(['unexpected answer: 500 internal_error: it failed']);
  });
});
