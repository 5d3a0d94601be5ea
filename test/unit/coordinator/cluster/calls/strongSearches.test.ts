// Covers: coordinator/cluster/calls/followerRoutes.ts, coordinator/cluster/calls/searchLoad.ts
/** The choice between owner and followers for strong searches, and the fallback to the owner. */
import { expect } from 'chai';
import { unavailable } from '../../../../../shared/errors/errors.js';
import type { Call } from '../../../../../shared/protocol/calls.js';
import type { Outcome } from '../../../../../shared/protocol/wire.js';
import { NotServed } from '../../../../../shared/transport/transportErrors.js';
import { Owners, queueOver, Wire } from '../../../../support/rigs/callWire.js';
import { fixed } from '../../../../support/rigs/engine.js';
import { TestClock } from '../../../../support/rigs/testEdge.js';

const search: Call = { op: 'search', query: fixed(1, 1), k: 1 };
const OWNER = 'vouch.c.7.1.read';
const FOLLOWERS = ['vouch.f.7.s2', 'vouch.f.7.s3'];

describe('the way of strong searches', () => {
  let clock: TestClock;
  let wire: Wire;
  let owners: Owners;
  beforeEach(() => {
    clock = new TestClock();
    wire = new Wire(16 << 20, 'vouch.');
    owners = new Owners(1);
    owners.followers = ['s2', 's3'];
  });

  const soon = (): { requestId: string; deadlineMs: number } => ({
    requestId: 'test',
    deadlineMs: clock.nowMs() + 60_000,
  });
  /** Sends `count` searches at once. Returns the number of calls at each subject. */
  const sendAtOnce = async (queue: ReturnType<typeof queueOver>, count: number): Promise<Map<string, number>> => {
    wire.received.length = 0;
    await Promise.all(Array.from({ length: count }, () => queue.send(7, search, soon())));
    const came = new Map<string, number>();
    for (const { subject, calls } of wire.received) came.set(subject, (came.get(subject) ?? 0) + calls.length);
    return came;
  };
  /** Makes each search take `msOf(subject)`. */
  const searchesTake = (msOf: (subject: string) => number): void => {
    const doneMs = new Map<string, number>();
    wire.answer = async ({ subject, calls }) => {
      const readyMs = Math.max(doneMs.get(subject) ?? 0, clock.monotonicMs()) + calls.length * msOf(subject);
      doneMs.set(subject, readyMs);
      // Answers in the order of their completion.
      for (let turn = 0; turn < readyMs; turn++) await new Promise(setImmediate);
      clock.advance(Math.max(readyMs - clock.monotonicMs(), 0));
      return calls.map(() => ({ ok: 'found' }));
    };
  };

  it('leads to the owner if they arrive one after another', async () => {
    const queue = queueOver(wire, owners, clock);
    for (let i = 0; i < 20; i++) await queue.send(7, search, soon());
    expect(wire.subjects).to.deep.equal(Array(20).fill(OWNER));
  });

  it('gives each shard its share of many concurrent searches, in two messages', async () => {
    const queue = queueOver(wire, owners, clock);
    const came = await sendAtOnce(queue, 90);
    expect([...came.keys()].sort()).to.deep.equal([OWNER, ...FOLLOWERS].sort());
    for (const count of came.values()) expect(count).to.be.within(28, 32);
    expect(wire.received).to.have.lengthOf(6);
  });

  it('leads to the owner only, if no follower is alive', async () => {
    owners.followers = [];
    const came = await sendAtOnce(queueOver(wire, owners, clock), 60);
    expect([...came]).to.deep.equal([[OWNER, 60]]);
  });

  it('leads less often to a slower shard', async () => {
    searchesTake((subject) => (subject === FOLLOWERS[0] ? 8 : 2));
    const queue = queueOver(wire, owners, clock);
    for (let i = 0; i < 12; i++) await sendAtOnce(queue, 40);
    const came = await sendAtOnce(queue, 40);
    expect(came.get(FOLLOWERS[0]!)).to.be.below(came.get(FOLLOWERS[1]!)! / 2);
    expect(came.get(OWNER)).to.be.above(10);
  });

  it('leads short searches to the owner, as a follower would have to ask it first', async () => {
    searchesTake(() => 0);
    const queue = queueOver(wire, owners, clock);
    for (let i = 0; i < 20; i++) await sendAtOnce(queue, 4);
    expect([...(await sendAtOnce(queue, 4))]).to.deep.equal([[OWNER, 4]]);
  });

  it('leads back to the owner if a follower fails, and avoids that follower for a while', async () => {
    const answers: (() => Outcome[])[] = [
      () => {
        throw new NotServed();
      },
      () => {
        throw unavailable('no answer came before the deadline');
      },
      () => [{ moved: true }],
    ];
    owners.followers = ['s2'];
    for (const answer of answers) {
      const queue = queueOver(wire, owners, clock);
      wire.answer = ({ subject, calls }) => {
        clock.advance(2 * calls.length);
        return subject === OWNER ? calls.map(() => ({ ok: 'owner' })) : calls.flatMap(() => answer());
      };
      const answers = await Promise.all(Array.from({ length: 10 }, () => queue.send(7, search, soon())));
      expect(answers).to.deep.equal(Array(10).fill('owner'));
      expect([...(await sendAtOnce(queue, 10)).keys()]).to.deep.equal([OWNER]);
      clock.advance(2_001);
      expect((await sendAtOnce(queue, 10)).has(FOLLOWERS[0]!)).to.equal(true);
    }
  });

  it('takes errors from the owner only, and still uses a follower after an error', async () => {
    owners.followers = ['s2'];
    const queue = queueOver(wire, owners, clock);
    wire.answer = ({ subject, calls }) => {
      clock.advance(2 * calls.length);
      return calls.map(() =>
        subject === OWNER ? { ok: 'owner' } : { code: 'record_not_found', message: 'not there' },
      );
    };
    for (let i = 0; i < 3; i++) expect((await sendAtOnce(queue, 10)).has(FOLLOWERS[0]!), `${i}`).to.equal(true);
  });

  it('gives a follower its expected time, and leaves the owner half of the deadline', async () => {
    owners.followers = ['s2'];
    const withinMs: number[] = [];
    const request = wire.request.bind(wire);
    wire.request = async (subject: string, body: Uint8Array, ...rest: unknown[]) => {
      if (subject === FOLLOWERS[0]) withinMs.push((rest[0] as { deadlineMs: number }).deadlineMs - clock.nowMs());
      return request(subject, body);
    };
    searchesTake(() => 0);
    const queue = queueOver(wire, owners, clock);
    await sendAtOnce(queue, 20);
    expect(withinMs[0]).to.be.within(1_010, 1_060);
    const hurried = { requestId: 'test', deadlineMs: clock.nowMs() + 400 };
    const alone = queueOver(wire, owners, clock);
    await Promise.all(Array.from({ length: 20 }, () => alone.send(7, search, hurried)));
    expect(withinMs.at(-1)).to.equal(200);
  });

  it('leads searches of the past, other reads and writes to the owner, whatever its load', async () => {
    const queue = queueOver(wire, owners, clock);
    const past: Call = { op: 'search', query: fixed(1, 1), k: 1, asOf: { logIndex: 0 } };
    const calls: Call[] = [search, past, { op: 'get', id: 1 }, { op: 'softDelete', id: 1 }];
    await Promise.all(calls.map((call) => queue.send(7, call, soon())));
    expect(wire.subjects.every((subject) => subject.startsWith('vouch.c.7.1.'))).to.equal(true);
  });
});
