// Covers: test/soak/checker/check.ts, test/soak/checker/secrets.ts
/** The history checker on encrypted records and the life of their keys. */
import { expect } from 'chai';
import { checkHistory } from '../../../../soak/checker/check.js';
import type { LoggedEvent } from '../../../../soak/checker/log.js';
import type { Outcome } from '../../../../soak/history/asked.js';
import {
  type GetSecretCall,
  type InsertSecretCall,
  type KeyStatusCall,
  plaintextOf,
  type Secret,
  type ShredCall,
} from '../../../../soak/history/secrets.js';
import type { Call } from '../../../../soak/history.js';
import { ABSENT, asked, logOf, ok, type Times, UNKNOWN } from '../../../../support/rigs/handMadeHistory.js';

const KEY = 'aa'.repeat(16);
const SHREDDED = { kind: 'shredded' } as const;

const secretOf = (mark: number): Secret => ({ mark, keyId: KEY, requestId: null });
const eventOf = (recordId: number, { mark, requestId }: Secret): LoggedEvent => ({
  type: 'insertEncrypted',
  ...{ recordId, requestId, keyId: KEY, mark },
});
const insert = (times: Times, mark: number, outcome: InsertSecretCall['outcome']): InsertSecretCall => ({
  op: 'insertEncrypted',
  ...asked(times),
  secret: secretOf(mark),
  outcome,
});
const inserted = (times: Times, mark: number, id: number): InsertSecretCall =>
  insert(times, mark, ok({ id, keyId: KEY }));
const shred = (times: Times, outcome: Outcome<{ keyId: string }> = ok({ keyId: KEY })): ShredCall => ({
  op: 'shred',
  ...asked(times),
  ...{ collection: '*', keyId: KEY, outcome },
});
const read = (times: Times, id: number, outcome: GetSecretCall['outcome']): GetSecretCall => ({
  op: 'getEncrypted',
  ...asked(times),
  id,
  outcome,
});
const shown = (mark: number) => ok({ keyId: KEY, plaintext: plaintextOf({ mark }) });
const status = (times: Times, shown: string, via = 'c2'): KeyStatusCall => ({
  op: 'keyStatus',
  ...asked(times),
  ...{ collection: '*', via, keyId: KEY, outcome: ok({ status: shown }) },
});

/** 1, 2: two secrets under the key; 3: soft deletion of the second; 4: the shred of the key. */
const EVENTS: readonly LoggedEvent[] = [
  eventOf(1, secretOf(1)),
  eventOf(2, secretOf(2)),
  { type: 'softDelete', recordId: 2 },
  { type: 'shredKey', keyId: KEY },
];
const WRITES: readonly Call[] = [
  inserted([10, 15], 1, 1),
  inserted([20, 25], 2, 2),
  { op: 'softDelete', ...asked([30, 35]), id: 2, since: null, outcome: ok({ sequence: 3 }) },
];
const SHRED = shred([40, 45]);

const wrong = (calls: readonly Call[], events = EVENTS): Record<string, number> =>
  Object.fromEntries(checkHistory(calls, [logOf(events)], { staleMs: 0, indexed: new Map() }).counts);
const withReads = (...reads: readonly Call[]): Call[] => [...WRITES, SHRED, ...reads];

describe('the history checker, on encrypted records', () => {
  it('accepts answers that are possible before, during and after a shred', () => {
    const calls = withReads(
      read([16, 19], 1, shown(1)),
      read([36, 39], 2, ABSENT),
      status([36, 39], 'active'),
      read([41, 44], 1, shown(1)),
      read([50, 55], 1, SHREDDED),
      status([50, 55], 'shredded'),
      insert([50, 55], 9, SHREDDED),
      { op: 'get', ...asked([26, 29]), id: 1, outcome: ok({ vector: [0, 0], metadata: null }) },
      { op: 'get', ...asked([50, 55]), id: 1, outcome: ABSENT },
    );
    expect(wrong(calls)).to.deep.equal({});
    expect(wrong([...WRITES, shred([40, 45], UNKNOWN)]), 'a shred of unknown outcome that was done').to.deep.equal({});
    const undone = EVENTS.slice(0, 3);
    expect(wrong([...WRITES, shred([40, 45], UNKNOWN), read([50, 55], 1, shown(1))], undone)).to.deep.equal({});
  });

  it('reports a payload that is shown after the shred was answered or seen', () => {
    expect(wrong(withReads(read([50, 55], 1, shown(1))))).to.include({ 'shredded key alive': 1 });
    // The shred is not answered, but one read has shown it; the logs do not contain it yet.
    const open = [...WRITES, shred([40, 1_000], UNKNOWN), read([50, 55], 1, SHREDDED)];
    const undone = EVENTS.slice(0, 3);
    expect(wrong(open, undone)).to.deep.equal({});
    expect(wrong([...open, read([54, 60], 1, shown(1))], undone), 'at the same time').to.deep.equal({});
    expect(wrong([...open, read([56, 60], 1, shown(1))], undone)).to.deep.equal({ 'shredded key alive': 1 });
    const elsewhere = status([50, 55], 'shredded');
    expect(
      wrong([...WRITES, shred([40, 1_000], UNKNOWN), elsewhere, read([56, 60], 1, shown(1))], undone),
    ).to.deep.equal({ 'shredded key alive': 1 });
  });

  it('reports a shredded key that is active again, and an insert under it', () => {
    expect(wrong(withReads(status([50, 55], 'active')))).to.deep.equal({ 'shredded key alive': 1 });
    const late = [eventOf(1, secretOf(1)), eventOf(2, secretOf(2)), ...EVENTS.slice(2), eventOf(3, secretOf(3))];
    expect(wrong(withReads(inserted([50, 55], 3, 3)), late)).to.deep.equal({ 'shredded key alive': 1 });
  });

  it('accepts a repeat, after the shred, of an insert from before it', () => {
    const secret = { ...secretOf(1), requestId: '01'.repeat(16) };
    const first = { ...inserted([10, 15], 1, 1), secret };
    const events = [eventOf(1, secret), ...EVENTS.slice(1)];
    const calls = [first, ...WRITES.slice(1), SHRED, { ...first, startMs: 50, endMs: 55 }];
    expect(wrong(calls, events)).to.deep.equal({});
  });

  it('reports a shred that no client requested, and one that is not in the log', () => {
    expect(wrong([...WRITES, shred([40, 45]), read([26, 29], 1, SHREDDED)])).to.deep.equal({ 'wrong answer': 1 });
    expect(wrong(withReads(), EVENTS.slice(0, 3))).to.deep.equal({ 'lost write': 1 });
    expect(wrong(WRITES)).to.deep.equal({ 'event without a call': 1 });
  });

  it('reports another plaintext, and a record that is shown after its deletion', () => {
    expect(wrong(withReads(read([26, 29], 1, shown(2))))).to.deep.equal({ 'wrong answer': 1 });
    expect(wrong(withReads(read([36, 39], 2, shown(2))))).to.deep.equal({ 'stale read': 1 });
    expect(wrong(withReads(read([50, 55], 1, ABSENT))), 'it is there, and lost').to.deep.equal({ 'stale read': 1 });
  });

  it('reports a lost and a doubled insert', () => {
    expect(wrong([...withReads(), inserted([26, 29], 7, 3)])).to.deep.equal({ 'lost write': 1 });
    expect(wrong(withReads(), [...EVENTS, eventOf(3, secretOf(2))])).to.include({ 'doubled write': 1 });
  });
});
