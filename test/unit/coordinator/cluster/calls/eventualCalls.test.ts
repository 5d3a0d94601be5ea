// Covers: coordinator/cluster/calls/followerRoutes.ts, coordinator/cluster/clusterBackend.ts
/** Transport of eventual searches: to a follower, and to the owner if no follower answers well and soon. */
import { expect } from 'chai';
import { unavailable } from '../../../../../shared/errors/errors.js';
import type { Call } from '../../../../../shared/protocol/calls.js';
import { type Outcome, unpackCalls } from '../../../../../shared/protocol/wire.js';
import { NotServed } from '../../../../../shared/transport/transportErrors.js';
import { areAnyCalls, Owners, queueOver, Wire } from '../../../../support/rigs/callWire.js';
import { fixed, soon } from '../../../../support/rigs/engine.js';
import { TestClock } from '../../../../support/rigs/testEdge.js';

const get: Call = { op: 'get', id: 1 };
const eventual: Call = { op: 'search', query: fixed(1, 1), k: 1, tellSequence: true };

describe('the way of eventual searches', () => {
  const followed = (): Owners => {
    const owners = new Owners(1);
    owners.followers = ['s2'];
    return owners;
  };

  it('leads to a follower, in one message, and strong reads to the owner', async () => {
    const wire = new Wire(16 << 20, 'vouch.');
    const queue = queueOver(wire, followed());
    const { tellSequence: _, ...strong } = eventual as Extract<Call, { op: 'search' }>;
    await Promise.all([eventual, eventual, strong, get].map((call) => queue.send(7, call, soon())));
    expect(wire.received.map(({ subject, calls }) => [subject, calls.length])).to.deep.equal([
      ['vouch.f.7', 2],
      ['vouch.c.7.1.read', 2],
    ]);
    const alone = new Wire(16 << 20, 'vouch.');
    await queueOver(alone, new Owners(1)).send(7, eventual, soon());
    expect(alone.subjects).to.deep.equal(['vouch.c.7.1.read']);
  });

  it('leads to the owner if no follower is there, or it has moved or refuses', async () => {
    const answers: (() => Outcome[])[] = [
      () => {
        throw new NotServed();
      },
      () => [{ moved: true }],
      () => [{ code: 'validation_error', message: 'that event has not arrived yet' }],
    ];
    for (const answer of answers) {
      const wire = new Wire(16 << 20, 'vouch.');
      wire.answer = ({ subject }) => (subject === 'vouch.f.7' ? answer() : [{ ok: 'owner' }]);
      expect(await queueOver(wire, followed()).send(7, eventual, soon())).to.equal('owner');
    }
  });

  it('waits briefly for silent followers, and then avoids them for a while', async () => {
    const clock = new TestClock();
    const wire = new Wire(16 << 20, 'vouch.');
    const deadlines: number[] = [];
    const request = wire.request.bind(wire);
    wire.request = async (subject: string, body: Uint8Array, ...rest: unknown[]) => {
      if (subject !== 'vouch.f.7') return request(subject, body);
      deadlines.push((rest[0] as { deadlineMs: number }).deadlineMs - clock.nowMs());
      expect(unpackCalls(body, areAnyCalls)[0]?.deadlineMs).to.equal(clock.nowMs() + 300);
      throw unavailable('no answer came before the deadline');
    };
    const queue = queueOver(wire, followed(), clock);
    const later = { requestId: 'test', deadlineMs: clock.nowMs() + 60_000 };
    for (let i = 0; i < 3; i++) expect(await queue.send(7, eventual, later)).to.equal(0);
    expect(deadlines).to.deep.equal([300]);
    clock.advance(2_300);
    await queue.send(7, eventual, later);
    expect(deadlines).to.deep.equal([300, 300]);
  });
});
