// Covers: shared/scheduling/retry.ts, shared/transport/transportErrors.ts
/** Transport of calls to the shards: combined into messages where possible, and sent to the current owner. */
import { expect } from 'chai';
import { Members } from '../../../../../coordinator/cluster/members/members.js';
import { MemoryBucket } from '../../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../../shared/clock.js';
import { unavailable } from '../../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../../shared/logger.js';
import { BRUTE } from '../../../../../shared/model/indexSpec.js';
import type { Call } from '../../../../../shared/protocol/calls.js';
import type { Outcome } from '../../../../../shared/protocol/wire.js';
import { storedOwnership } from '../../../../../shared/registry/owners.js';
import { AnswerLost, NotSent } from '../../../../../shared/transport/transportErrors.js';
import { eventually, expectCode, rejection } from '../../../../support/expectations.js';
import { Owners, queueOver, Wire } from '../../../../support/rigs/callWire.js';
import { configOf, fixed, soon } from '../../../../support/rigs/engine.js';
import { TestClock } from '../../../../support/rigs/testEdge.js';

const get = (id: number): Call => ({ op: 'get', id });
const rebuild: Call = { op: 'rebuild', kind: null };
const remove: Call = { op: 'delete', id: 1 };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('the way of calls to the owner', () => {
  it('combines calls of one turn for one collection into a message, reads and writes apart, in order', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    const queue = queueOver(wire, new Owners(3));
    const answers = await Promise.all([
      ...[1, 2, 3].map((id) => queue.send(7, get(id), soon())),
      queue.send(7, { op: 'delete', id: 1 }, soon()),
      queue.send(8, get(1), soon()),
    ]);
    expect(answers).to.deep.equal([0, 1, 2, 0, 0]);
    expect(wire.received.map(({ subject, calls }) => [subject, calls.length])).to.deep.equal([
      ['vouch.c.7.3.read', 3],
      ['vouch.c.7.3.write', 1],
      ['vouch.c.8.3.read', 1],
    ]);
  });

  it('combines no more calls than have room for their answers in one message', async () => {
    for (const bound of [1 << 20, 16 << 20]) {
      const wire = new Wire(bound, 'vouch.c.');
      const queue = queueOver(wire, new Owners(1));
      await Promise.all(Array.from({ length: 200 }, (_, id) => queue.send(7, get(id), soon())));
      // A vector of the largest dimension and the largest metadata of a record.
      for (const { calls } of wire.received) expect(calls.length * (4 * 32_768 + 65_536)).to.be.at.most(bound);
      const searches = new Wire(bound, 'vouch.c.');
      const query = fixed(1, 1);
      const asking = queueOver(searches, new Owners(1));
      await Promise.all(Array.from({ length: 200 }, () => asking.send(7, { op: 'search', query, k: 5_000 }, soon())));
      for (const { calls } of searches.received) expect(calls.length * 5_000 * 16).to.be.at.most(bound);
    }
  });

  it('looks up the owner again if no process serves the subject', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.7.2.');
    const owners = new Owners(1);
    owners.next = { shard: 's2', session: 'two', epoch: 2 };
    expect(await queueOver(wire, owners).send(7, get(1), soon())).to.equal(0);
    owners.server = { shard: 's1', session: 'one', epoch: 1 };
    expect(await queueOver(wire, owners).send(7, rebuild, soon())).to.equal(0);
    expect(wire.subjects).to.deep.equal([
      'vouch.c.7.1.read',
      'vouch.c.7.2.read',
      'vouch.c.7.1.control',
      'vouch.c.7.2.control',
    ]);
  });

  it('answers unavailable soon for a collection without owner, and sends nothing', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    const owners = new Owners(1);
    owners.isOwned = false;
    await expectCode(queueOver(wire, owners).send(7, get(1), soon()), 'unavailable');
    expect(wire.received).to.deep.equal([]);
  });

  it('sends control calls alone, beside the reads and writes of their collection', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    const queue = queueOver(wire, new Owners(3));
    await Promise.all([
      queue.send(7, { op: 'hold', token: 'x', holdMs: 100 }, soon()),
      queue.send(7, rebuild, soon()),
      queue.send(7, { op: 'configureIndex', spec: { kind: 'hnsw', parameters: { m: 8 } } }, soon()),
      queue.send(7, { op: 'release', token: 'x' }, soon()),
      queue.send(7, { op: 'indexState' }, soon()),
      queue.send(7, get(1), soon()),
    ]);
    expect(wire.received.map(({ subject, calls }) => [subject, ...calls.map(({ call }) => call.op)])).to.deep.equal([
      ['vouch.c.7.3.control', 'hold'],
      ['vouch.c.7.3.control', 'rebuild'],
      ['vouch.c.7.3.control', 'configureIndex'],
      ['vouch.c.7.3.control', 'release'],
      ['vouch.c.7.3.read', 'indexState', 'get'],
    ]);
    expect(wire.received[2]!.calls[0]!.call).to.deep.equal({
      op: 'configureIndex',
      spec: { kind: 'hnsw', parameters: { m: 8 } },
    });
  });

  it('sends possibly long calls alone, so that they delay no other call', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    const queue = queueOver(wire, new Owners(3));
    const plain = { op: 'search', query: fixed(1, 1), k: 1 } as const;
    const long: Call[] = [
      { ...plain, asOf: { logIndex: 1 } },
      { ...plain, text: { query: 'x', hybrid: false } },
      { ...plain, graph: { weight: 1, seedCount: 1, maxDepth: 1, direction: 'outgoing' } },
      { ...plain, group: { key: 'a', size: 1 } },
      { op: 'searchBatch', searches: [plain], maxBytes: 1 },
      { op: 'readLog', from: 0, maxBytes: 1 },
      { op: 'getEncrypted', id: 1 },
      { op: 'deleteMany', of: { filter: { op: 'and', of: [] } } },
    ];
    const short: Call[] = [plain, get(1), remove, { op: 'deleteMany', of: { ids: [1] } }];
    await Promise.all([...short.slice(0, 2), ...long, ...short.slice(2)].map((call) => queue.send(7, call, soon())));
    const sent = wire.received.map(({ calls }) => calls.map(({ call }) => call));
    expect(sent.slice(0, long.length)).to.deep.equal(long.map((call) => [call]));
    expect(sent.slice(long.length)).to.deep.equal([short.slice(0, 2), short.slice(2)]);
  });

  it('does not repeat a control call of unknown outcome', async () => {
    const received: string[] = [];
    const lost = new Wire(16 << 20, '');
    lost.request = async (subject) => {
      received.push(subject);
      throw unavailable('the connection is lost');
    };
    const queue = queueOver(lost, new Owners(1));
    for (const call of [rebuild, { op: 'configureIndex', spec: BRUTE }] as const)
      await expectCode(queue.send(7, call, soon()), 'unavailable');
    expect(received).to.have.length(2);
  });

  it('sends a moved call again alone, and keeps the other answers of its message', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    wire.answer = ({ subject, calls }) =>
      calls.map(({ call }) =>
        subject.startsWith('vouch.c.7.1.') && 'id' in call && call.id === 2 ? { moved: true } : { ok: [subject, call] },
      );
    const owners = new Owners(1);
    owners.next = { shard: 's2', session: 'two', epoch: 2 };
    const queue = queueOver(wire, owners);
    const answers = await Promise.all([1, 2, 3].map((id) => queue.send(7, get(id), soon())));
    expect(answers).to.deep.equal([
      ['vouch.c.7.1.read', get(1)],
      ['vouch.c.7.2.read', get(2)],
      ['vouch.c.7.1.read', get(3)],
    ]);
    expect(wire.received.map(({ calls }) => calls.length)).to.deep.equal([3, 1]);
    owners.server = { shard: 's1', session: 'one', epoch: 1 };
    const write: Call = { op: 'softDelete', id: 2 };
    expect(await queue.send(7, write, soon())).to.deep.equal(['vouch.c.7.2.write', write]);
  });

  it('answers unavailable after three seconds of moves, or at the deadline, with one timer for all', async () => {
    const clock = new TestClock();
    const wire = new Wire(16 << 20, 'vouch.c.');
    wire.answer = ({ calls }) => calls.map(() => ({ moved: true }));
    const queue = queueOver(wire, new Owners(1), clock);
    const started = clock.nowMs();
    const within = (ms: number) => ({ requestId: 'test', deadlineMs: started + ms });
    let over = 0;
    const late = (ms: number) =>
      expectCode(queue.send(7, get(1), within(ms)), 'unavailable').then(() => {
        over++;
      });
    const all = Promise.all([...Array.from({ length: 20 }, () => late(10_000)), late(500)]);
    await eventually('every call waits', async () => queue.waiting === 21);
    clock.advance(500);
    await eventually('the call with the shorter deadline ends', async () => over === 1);
    clock.advance(2_499);
    const sent = wire.received.length;
    await eventually('the calls are sent together', async () => wire.received.length > sent + 1);
    expect([over, wire.received.slice(-2).map(({ calls }) => calls.length)]).to.deep.equal([1, [10, 10]]);
    clock.advance(1);
    await all;
  });

  it('restarts those three seconds after an owner has worked on the call', async () => {
    const clock = new TestClock();
    const wire = new Wire(16 << 20, 'vouch.c.');
    const later = { requestId: 'test', deadlineMs: clock.nowMs() + 900_000 };
    // Three owners build it for two seconds each and hand over; the fourth finishes it.
    let owners = 0;
    wire.answer = async () => {
      clock.advance(2_000);
      return [++owners <= 3 ? { moved: true } : { ok: 'built' }];
    };
    expect(await queueOver(wire, new Owners(1), clock).send(7, rebuild, later)).to.equal('built');
  });

  it('continues waiting calls when a new owner is reported, without a read of the store', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.7.2.');
    const owners = new Owners(1);
    const queue = queueOver(wire, owners);
    const answer = queue.send(7, remove, soon());
    await eventually('the call waits', async () => queue.waiting === 1);
    const { rereads } = owners;
    owners.moveTo({ shard: 's2', session: 'two', epoch: 2 });
    expect(await answer).to.equal(0);
    expect(owners.rereads - rereads).to.be.at.most(1);
  });

  it('repeats a read whose process has ended, and reports a write as unavailable', async () => {
    for (const next of ['another', undefined]) {
      const wire = new Wire(16 << 20, 'vouch.c.');
      wire.answer = () => new Promise(() => undefined);
      const owners = new Owners(1);
      const queue = queueOver(wire, owners);
      const inAnHour = { requestId: 'test', deadlineMs: systemClock.nowMs() + 3_600_000 };
      const read = queue.send(7, get(1), inAnHour);
      const unknown = [remove, rebuild].map((call) => expectCode(queue.send(7, call, inAnHour), 'unavailable'));
      await turn();
      expect(wire.received).to.have.length(3);
      wire.answer = ({ calls }) => calls.map(() => ({ ok: 'again' }));
      owners.become(next);
      await Promise.all(unknown);
      owners.next = { shard: 's2', session: 'two', epoch: 2 };
      expect(await read).to.equal('again');
      expect(wire.subjects.filter((subject) => !subject.endsWith('read'))).to.deep.equal([
        'vouch.c.7.1.control',
        'vouch.c.7.1.write',
      ]);
    }
  });

  it('repeats a read whose answer is lost, and reports a write as lost', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    const queue = queueOver(wire, new Owners(1));
    wire.answer = () => Promise.reject(new AnswerLost());
    const unknown = [remove, rebuild].map((call) => rejection(queue.send(7, call, soon())));
    for (const error of await Promise.all(unknown)) expect(error).to.be.instanceOf(AnswerLost);
    expect(wire.received).to.have.length(2);
    const read = queue.send(7, get(1), soon());
    await eventually('the call waits', async () => queue.waiting === 1);
    wire.answer = ({ calls }) => calls.map(() => ({ ok: 'again' }));
    expect(await read).to.equal('again');
  });

  it('keeps unsent calls until the connection is back, up to a limit', async () => {
    let isConnected = false;
    const wire = new Wire(16 << 20, 'vouch.c.');
    wire.answer = ({ calls }) => {
      if (!isConnected) throw new NotSent(unavailable('the connection to NATS is lost'));
      return calls.map(() => ({ ok: 'sent' }));
    };
    const owners = new Owners(1);
    owners.ownersCaughtUp = async () => {
      throw unavailable('the connection to NATS is lost');
    };
    const queue = queueOver(wire, owners);
    const calls = [get(1), remove, rebuild].map((call) => queue.send(7, call, soon()));
    await eventually('the calls wait', async () => queue.waiting === 3);
    const refused = Array.from({ length: 300 }, () => rejection(queue.send(7, get(1), soon())));
    await Promise.race(refused);
    isConnected = true;
    expect(await Promise.all(calls)).to.deep.equal(['sent', 'sent', 'sent']);
  });

  it('keeps the place of a waiting call while it is sent again, whatever arrives meanwhile', async () => {
    let isConnected = false;
    const wire = new Wire(16 << 20, 'vouch.c.');
    wire.answer = ({ calls }) => {
      if (!isConnected) throw new NotSent(unavailable('the connection to NATS is lost'));
      return calls.map(() => ({ ok: 'sent' }));
    };
    const owners = new Owners(1);
    let woken: (() => void) | undefined = () => undefined;
    owners.ownersCaughtUp = async () => {
      owners.rereads++;
      woken?.();
    };
    const queue = queueOver(wire, owners);
    let others: Promise<unknown>[] = [];
    const cameMeanwhile = new Promise<void>((resolve) => {
      woken = () => {
        woken = undefined;
        others = Array.from({ length: 300 }, () => queue.send(7, get(1), soon()));
        resolve();
      };
    });
    const calls = [get(1), remove, rebuild].map((call) => queue.send(7, call, soon()));
    await cameMeanwhile;
    const refused = others.map((other) =>
      other.then(
        () => 0,
        () => 1,
      ),
    );
    await Promise.race(others.map((other) => rejection(other)));
    isConnected = true;
    expect(await Promise.all(calls)).to.deep.equal(['sent', 'sent', 'sent']);
    expect((await Promise.all(refused)).reduce<number>((sum, one) => sum + one, 0)).to.equal(300 - (256 - 3));
  });

  it('sends a running read to a newly reported owner, but lets a write wait for the former owner', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    const former: ((outcomes: Outcome[]) => void)[] = [];
    wire.answer = () => new Promise((resolve) => former.push(resolve));
    const owners = new Owners(1);
    const queue = queueOver(wire, owners);
    const [read, write] = [queue.send(7, get(1), soon()), queue.send(7, remove, soon())];
    await turn();
    wire.answer = ({ subject }) => [{ ok: subject }];
    owners.moveTo({ shard: 's2', session: 'two', epoch: 2 });
    expect(await read).to.equal('vouch.c.7.2.read');
    for (const resolve of former) resolve([{ ok: 'committed' }]);
    expect(await write).to.equal('committed');
  });

  it('limits the calls that wait for a dead shard, so that other collections keep their room', async () => {
    const owners = new Owners(1);
    owners.server = undefined;
    const queue = queueOver(new Wire(16 << 20, 'vouch.c.'), owners);
    const brief = { requestId: 'test', deadlineMs: systemClock.nowMs() + 300 };
    let refused = 0;
    const all = Array.from({ length: 400 }, () =>
      expectCode(queue.send(7, get(1), brief), 'unavailable').then(() => {
        refused++;
      }),
    );
    await turn();
    expect(refused).to.equal(144);
    await Promise.all(all);
  });
});

describe('the process that serves a collection', () => {
  it('changes with a restart under the same name, another owner, or the end of its heartbeat', async () => {
    const [shards, owners] = [1, 2].map(() => new MemoryBucket({ logger: silentLogger })) as [
      MemoryBucket,
      MemoryBucket,
    ];
    const members = new Members({ shards, owners }, undefined as never, systemClock, 4_000);
    await members.start();
    const processOf = (): string | undefined => members.serverOf(7) && Object.values(members.serverOf(7)!).join(' ');
    const reported: string[] = [];
    members.listen({
      ownerChanged: (id) => reported.push(`owner of ${id}`),
      processChanged: (shard, session) => reported.push(`${shard} is ${session}`),
    });
    const known: (string | undefined)[] = [processOf()];
    const note = async (change: Promise<unknown>): Promise<void> => {
      await change;
      known.push(processOf());
    };
    const beat = (session: string) => shards.put('s1', { session, collections: 1, records: 0 });
    const own = (shard: string, epoch: number) =>
      owners.put('7', storedOwnership({ shard, epoch, collection: configOf(7), followers: [] }));
    await note(own('s1', 1));
    await note(beat('one'));
    await note(beat('two'));
    await note(own('s1', 2));
    await note(own('s2', 3));
    await note(own('s1', 4));
    await note(shards.delete('s1'));
    expect(known.map((one) => one !== undefined)).to.deep.equal([false, false, true, true, true, false, true, false]);
    const processes = known.filter((one) => one !== undefined);
    expect(new Set(processes).size).to.equal(processes.length);
    await beat('two');
    const before = processOf();
    const events = reported.length;
    await shards.put('s1', { session: 'two', collections: 9, records: 9 });
    const entry = await owners.get('7');
    await owners.put('7', { ...(entry!.value as object), followers: ['s2'] });
    expect(processOf(), 'a renewal changes nothing').to.equal(before);
    expect(reported, 'nor do followers').to.have.length(events);
    expect(reported).to.deep.equal([
      'owner of 7',
      's1 is one',
      's1 is two',
      'owner of 7',
      'owner of 7',
      'owner of 7',
      's1 is undefined',
      's1 is two',
    ]);
    members.stop();
  });
});
