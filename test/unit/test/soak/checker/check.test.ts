/** The history checker on hand-made histories: a right one, and one with each kind of violation. */
import { expect } from 'chai';
import { ABSENT as NO_HASH } from '../../../../../verifier/hashing.js';
import { checkHistory } from '../../../../soak/checker/check.js';
import type { CollectionLog, LoggedEvent } from '../../../../soak/checker/log.js';
import type { InsertCall, RemoveCall, UpdateCall } from '../../../../soak/history/records.js';
import type { Call } from '../../../../soak/history.js';
import { seededRandom, testSeed } from '../../../../support/model/random.js';
import {
  A,
  ABSENT,
  asked,
  B,
  C,
  CHANGED,
  D,
  EVENTS,
  eventual,
  got,
  insertEvent,
  inserted,
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
  WRITES,
  withReads,
  writesWith,
} from '../../../../support/rigs/handMadeHistory.js';

const STALE_MS = 2_000;
const OPTIONS = { staleMs: STALE_MS, indexed: new Map<string, string>() };

/** Number of violations of each kind in a history over the log. */
const wrong = (calls: readonly Call[], log = LOG): Record<string, number> =>
  Object.fromEntries(checkHistory(calls, [log], OPTIONS).counts);

describe('the history checker', () => {
  it('accepts a right history and counts the calls that it has checked', () => {
    const calls = withReads(
      search([21, 25], [0, 0], 5, [
        [1, 0],
        [2, 25],
      ]),
      search([61, 65], [0, 0], 5, [[2, 25]]),
      search([110, 120], [0, 0], 1, [[2, 25]]),
      { ...search([110, 120], [0, 0], 5, [[2, 25]]), color: 2 },
      got([110, 120], 4, D),
      got([110, 120], 2, { ...B, metadata: CHANGED }),
      got([110, 120], 1, undefined),
      { op: 'state', ...asked([110, 120]), outcome: ok(stateAt(7)) },
      {
        op: 'timeline',
        ...asked([110, 120]),
        after: 5,
        limit: 1,
        outcome: ok({ total: 7, events: [{ sequence: 6, type: 'insert', about: 4 }] }),
      },
    );
    const { checked, violations } = checkHistory(calls, [LOG], OPTIONS);
    expect(violations).to.deep.equal([]);
    expect(checked).to.deep.equal({ writes: 6, reads: 9, receipts: 2, events: 7 });
  });

  it('accepts from a read any state that existed during it', () => {
    for (const hits of [
      [],
      [[1, 0]],
      [
        [1, 0],
        [2, 25],
      ],
    ])
      expect(wrong(withReads(search([0, 25], [0, 0], 5, hits)))).to.deep.equal({});
    expect(wrong(withReads(got([75, 95], 3, C)))).to.deep.equal({});
    expect(wrong(withReads(got([75, 95], 3, undefined)))).to.deep.equal({});
  });

  it('accepts a write of unknown outcome in the log or not, and either answer to its retry', () => {
    const unknown = { ...WRITES.a, outcome: UNKNOWN };
    expect(wrong(writesWith({ a: unknown }))).to.deep.equal({});
    const lost: InsertCall = { ...WRITES.a, row: rowOf(99, [5, 5]), outcome: UNKNOWN };
    expect(wrong([...Object.values(WRITES), lost])).to.deep.equal({});
    expect(wrong([...Object.values(WRITES), { ...unknown, startMs: -10, endMs: -5 }])).to.deep.equal({});
    const removedTwice: RemoveCall = { ...WRITES.remove, outcome: UNKNOWN };
    expect(wrong([...writesWith({ remove: removedTwice }), { ...removedTwice }])).to.deep.equal({});
  });

  it('reports a lost write of each kind', () => {
    expect(wrong([...Object.values(WRITES), inserted(rowOf(99, [5, 5]), 5, 8, [130, 140])])).to.include({
      'lost write': 1,
    });
    const batch: Call = { ...WRITES.batch, rows: [rowOf(98, [1, 1])], outcome: ok({ ids: [9] }) };
    expect(wrong([...Object.values(WRITES), batch])).to.include({ 'lost write': 1 });
    const update: Call = { ...WRITES.update, metadata: { color: 1, mark: 97 } };
    expect(wrong([...Object.values(WRITES), update])).to.include({ 'lost write': 1 });
    const remove: Call = { ...WRITES.remove, id: 4, outcome: ok({ sequence: 8 }) };
    expect(wrong([...Object.values(WRITES), remove])).to.deep.equal({ 'lost write': 1 });
  });

  it('reports a doubled write, by the log and by the answers', () => {
    expect(wrong(Object.values(WRITES), logOf([...EVENTS, insertEvent(5, A)]))).to.deep.equal({ 'doubled write': 1 });
    expect(wrong([...Object.values(WRITES), { ...WRITES.a, startMs: 1 }])).to.deep.equal({ 'doubled write': 1 });
    expect(wrong([...Object.values(WRITES), { ...WRITES.remove }])).to.deep.equal({ 'doubled write': 1 });
  });

  it('reports an event that no client wrote, a refused write in the log, and an altered write', () => {
    expect(wrong(writesWith({ b: got([0, 1], 1, undefined) }))).to.include({ 'event without a call': 1 });
    const refused: Call = { ...WRITES.a, outcome: { kind: 'refused', why: '400 validation_error' } };
    expect(wrong(writesWith({ a: refused }))).to.include({ 'refused write in the log': 1, 'unexpected answer': 1 });
    const absent: Call = { ...WRITES.update, outcome: ABSENT };
    expect(wrong(writesWith({ update: absent }))).to.include({ 'refused write in the log': 1 });
    const other = logOf(EVENTS.map((event, i) => (i === 1 ? insertEvent(2, { ...B, vector: [3, 5] }) : event)));
    expect(wrong(Object.values(WRITES), other)).to.deep.equal({ 'altered write': 1 });
  });

  it('reports a torn batch', () => {
    const third = rowOf(6, [7, 7]);
    const torn: Call = { ...WRITES.batch, rows: [C, D, third], outcome: UNKNOWN };
    expect(wrong(writesWith({ batch: torn }))).to.deep.equal({ 'torn batch': 1 });
    const swapped: Call = { ...WRITES.batch, rows: [D, C], outcome: UNKNOWN };
    expect(wrong(writesWith({ batch: swapped }))).to.deep.equal({ 'torn batch': 1 });
  });

  it('accepts a batch with rows that were written before', () => {
    const withOld: Call = { ...WRITES.batch, rows: [C, A, D], outcome: ok({ ids: [3, 1, 4] }) };
    expect(wrong(writesWith({ batch: withOld }))).to.deep.equal({});
    // The row was sent before with unknown outcome and was stored between the others.
    const alone: Call = { ...inserted(D, 4, 6, [72, 79]), outcome: UNKNOWN };
    expect(wrong([...Object.values(WRITES), alone])).to.deep.equal({});
  });

  it('reports a repeat with another answer, and a deduplicated answer without an earlier write', () => {
    const { a } = WRITES;
    if (a.outcome.kind !== 'ok') throw new Error('it was answered');
    const { answer } = a.outcome;
    const repeat = (changed: object): Call => ({
      ...a,
      startMs: 110,
      endMs: 120,
      outcome: ok({ ...answer, deduplicated: true, ...changed }),
    });
    expect(wrong(withReads(repeat({})))).to.deep.equal({});
    expect(wrong(withReads(repeat({ id: 2 })))).to.include({ 'wrong sequence': 1 });
    const other = { ...answer.receipt, oldRoot: rootAt(9) };
    expect(wrong(withReads(repeat({ receipt: other })))).to.have.property('wrong receipt');
    const only: Call = { ...a, outcome: ok({ ...answer, deduplicated: true }) };
    expect(wrong(writesWith({ a: only }))).to.deep.equal({ 'wrong answer': 1 });
  });

  it('reports a wrong id, a wrong sequence and a wrong receipt', () => {
    const batch: Call = { ...WRITES.batch, outcome: ok({ ids: [3, 5] }) };
    expect(wrong(writesWith({ batch }))).to.deep.equal({ 'wrong sequence': 1 });
    // The answer of another event, right in itself.
    expect(wrong(writesWith({ a: inserted(A, 1, 2, [0, 10]) }))).to.include({ 'wrong sequence': 1 });
    const { a } = WRITES;
    if (a.outcome.kind !== 'ok') throw new Error('it was answered');
    const { answer } = a.outcome;
    const withReceipt = (claim: object): Call => ({
      ...a,
      outcome: ok({ ...answer, receipt: { ...answer.receipt, ...claim } }),
    });
    for (const claim of [
      { stateHash: rootAt(9) },
      { problems: ['the proof does not lead to new_root'] },
      { recordId: 2 },
    ])
      expect(wrong(writesWith({ a: withReceipt(claim) })), JSON.stringify(claim)).to.deep.equal({ 'wrong receipt': 1 });
    expect(wrong(Object.values(WRITES), logOf(EVENTS, new Map([[1, rootAt(9)]])))).to.have.property('wrong receipt');
  });

  it('reports a log in another order than the clients saw', () => {
    const late: InsertCall = inserted(A, 1, 1, [21, 29]);
    expect(wrong(writesWith({ a: late }))).to.deep.equal({ 'out of order': 1 });
  });

  it('reports a stale read, after a write and after another read', () => {
    expect(wrong(withReads(search([41, 45], [0, 0], 1, [[1, 0]])))).to.deep.equal({ 'stale read': 1 });
    expect(wrong(withReads(got([101, 105], 3, C)))).to.deep.equal({ 'stale read': 1 });
    expect(wrong(withReads({ op: 'state', ...asked([101, 105]), outcome: ok(stateAt(6)) }))).to.deep.equal({
      'stale read': 1,
    });
    // The deletion is not yet answered, but one read has shown it.
    const shown = got([91, 92], 3, undefined);
    expect(wrong(withReads(shown, got([91, 94], 3, C)))).to.deep.equal({});
    expect(wrong(withReads(shown, got([93, 94], 3, C)))).to.deep.equal({ 'stale read': 1 });
    const update: UpdateCall = {
      op: 'updateMetadata',
      ...asked([93, 94]),
      id: 3,
      since: null,
      metadata: { color: 0, mark: 50 },
      outcome: ABSENT,
    };
    expect(wrong(withReads(update))).to.deep.equal({});
    expect(wrong(withReads({ ...update, id: 4 })), 'record 4 exists').to.deep.equal({ 'stale read': 1 });
  });

  it('reports a read of a write that is not yet or never made', () => {
    expect(wrong(withReads(got([21, 25], 3, C)))).to.deep.equal({ 'read of the future': 1 });
    expect(wrong(withReads(got([110, 120], 4, { ...D, vector: [9, 8] })))).to.deep.equal({ 'wrong answer': 1 });
    expect(wrong(withReads(got([110, 120], 7, D)))).to.deep.equal({ 'wrong answer': 1 });
    expect(
      wrong(withReads({ op: 'state', ...asked([110, 120]), outcome: ok({ ...stateAt(7), chainHead: rootAt(1) }) })),
    ).to.deep.equal({ 'wrong answer': 1 });
  });

  it('accepts any state of a log without events, if every answer shows that state', () => {
    const log = { ...logOf([]), configHash: NO_HASH };
    const read = (sequence: number, stateHash: string): Call => {
      const answer = { sequence, stateRoot: rootAt(0), stateHash, chainHead: rootAt(1) };
      return { op: 'state', ...asked([110, 120]), outcome: ok(answer) };
    };
    expect(wrong([read(0, rootAt(2)), read(0, rootAt(2))], log)).to.deep.equal({});
    expect(wrong([read(0, rootAt(2)), read(0, rootAt(3))], log)).to.deep.equal({ 'wrong answer': 1 });
    expect(wrong([read(1, rootAt(2))], log)).to.deep.equal({ 'wrong answer': 1 });
  });

  it('reports a wrong search result of each kind', () => {
    const times: Times = [110, 120];
    const results: Readonly<Record<string, readonly (readonly number[])[]>> = {
      'a wrong score': [[2, 24]],
      'a hit that is gone': [
        [1, 0],
        [2, 25],
      ],
      'a hit twice': [
        [2, 25],
        [2, 25],
      ],
      'a nearer one left out': [[4, 162]],
      'the wrong order': [
        [4, 162],
        [2, 25],
      ],
      'a hit that never was': [
        [2, 25],
        [9, 30],
      ],
    };
    for (const [what, hits] of Object.entries(results)) {
      const found = wrong(withReads(search(times, [0, 0], 2, hits)));
      const kind = what === 'a hit that is gone' ? 'stale read' : 'wrong search result';
      expect(found, what).to.deep.equal({ [kind]: 1 });
    }
    const filtered = { ...search(times, [0, 0], 5, [[2, 25]]), color: 0 };
    expect(wrong(withReads(filtered)), 'another colour').to.deep.equal({ 'wrong search result': 1 });
  });

  it('checks an eventual answer against the state that it names, and the age of that state', () => {
    const nearest = search([3_000, 3_010], [0, 0], 1, [[2, 25]]);
    expect(wrong(withReads(eventual(nearest, 7)))).to.deep.equal({});
    expect(wrong(withReads(eventual(nearest, 4)))).to.deep.equal({ 'eventual answer too old': 1 });
    // 2 seconds earlier no client had an answer of a later state.
    const sooner = eventual({ ...nearest, startMs: STALE_MS + 65, endMs: STALE_MS + 66 }, 4);
    expect(wrong(withReads(sooner))).to.deep.equal({});
    expect(wrong(withReads(eventual({ ...nearest, startMs: 21, endMs: 22 }, 7)))).to.deep.equal({
      'read of the future': 1,
    });
    expect(wrong(withReads(eventual(search([200, 210], [0, 0], 1, [[1, 0]]), 7)))).to.deep.equal({
      'wrong search result': 1,
    });
    expect(wrong(withReads({ ...nearest, isEventual: true }))).to.deep.equal({ 'wrong answer': 1 });
    // A strong read after an eventual answer may not show an earlier state.
    const seen = eventual(search([91, 92], [0, 0], 1, [[2, 25]]), 7);
    expect(wrong(withReads(seen, got([93, 94], 3, C)))).to.deep.equal({ 'stale read': 1 });
  });

  it('reports a log that does not verify, and every unexpected answer', () => {
    const damaged = { ...LOG, refusal: 'event 3 is altered' };
    expect(wrong(Object.values(WRITES), damaged)).to.deep.equal({ 'damaged log': 1 });
    const refused: Call = { ...got([110, 120], 1, undefined), outcome: { kind: 'refused', why: '500 internal_error' } };
    expect(wrong(withReads(refused))).to.deep.equal({ 'unexpected answer': 1 });
  });

  it('agrees with a plain replay on searches of random histories', () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 30; round++) expectSameAsReplay(random);
  });
});

/**
 * Asserts that a search answer is accepted exactly if the plain replay gives it at one of the sequences that it may
 * show.
 */
function expectSameAsReplay(random: ReturnType<typeof seededRandom>): void {
  const { calls, log } = randomHistory(random);
  const states = statesOf(log);
  const query = [random.int(4), random.int(4)];
  const k = 1 + random.int(3);
  const answers = states.map((state) => nearest(state, query, k));
  const from = random.int(log.entries.length);
  const to = from + random.int(log.entries.length - from);
  // Event s runs from 10s to 10s + 5, so the search may show any state between `from` and `to`.
  const times: Times = [10 * from + 6, 10 * to + 1];
  for (const [at, hits] of answers.entries()) {
    const isRight = answers.slice(from, to + 1).some((answer) => JSON.stringify(answer) === JSON.stringify(hits));
    const found = wrong([...calls, search(times, query, k, hits)], log);
    expect(Object.keys(found).length === 0, `the state at ${at}, shown between ${from} and ${to}`).to.equal(isRight);
  }
}

type State = ReadonlyMap<number, readonly number[]>;

function randomHistory(random: ReturnType<typeof seededRandom>): { calls: Call[]; log: CollectionLog } {
  const live: number[] = [];
  const events: (LoggedEvent & { readonly recordId: number })[] = [];
  let ids = 0;
  for (let sequence = 1; sequence <= 12; sequence++) {
    if (live.length > 0 && random.int(3) === 0) {
      const [id] = live.splice(random.int(live.length), 1);
      events.push({ type: 'softDelete', recordId: id! });
    } else {
      live.push(++ids);
      events.push(insertEvent(ids, rowOf(ids, [random.int(4), random.int(4)])));
    }
  }
  const log = logOf(events);
  const calls = events.map((event, i): Call => {
    const times: Times = [10 * (i + 1), 10 * (i + 1) + 5];
    if (event.type !== 'insert')
      return { op: 'softDelete', ...asked(times), id: event.recordId, since: null, outcome: ok({ sequence: i + 1 }) };
    const { vector, metadata, text, requestId } = event;
    const row = { vector, metadata, text, requestId };
    return insertedIn(log)(row, event.recordId, i + 1, times);
  });
  return { calls, log };
}

/** State after each sequence, from 0. */
function statesOf({ entries }: CollectionLog): State[] {
  const states: State[] = [new Map()];
  for (const { event } of entries) {
    const next = new Map(states.at(-1)!);
    if (event.type === 'insert') next.set(event.recordId, event.vector);
    else if (event.type === 'softDelete') next.delete(event.recordId);
    states.push(next);
  }
  return states;
}

const nearest = (state: State, [x, y]: readonly number[], k: number): number[][] =>
  [...state]
    .map(([id, [a, b]]) => [id, (a! - x!) ** 2 + (b! - y!) ** 2])
    .sort(([id, score], [otherId, otherScore]) => score! - otherScore! || id! - otherId!)
    .slice(0, k);
