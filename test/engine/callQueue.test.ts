/** How calls travel to the shards: together where that fits, and to the owner of the moment. */
import { expect } from 'chai';
import { CallQueue } from '../../coordinator/cluster/callQueue.js';
import { Members } from '../../coordinator/cluster/members.js';
import { MemoryBucket } from '../../shared/bucket/memory.js';
import type { SentCall } from '../../shared/callShapes.js';
import type { Call } from '../../shared/calls.js';
import { systemClock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import { EXACT } from '../../shared/indexSpec.js';
import { silentLogger } from '../../shared/logger.js';
import { storedOwnership } from '../../shared/owners.js';
import { NobodyServes } from '../../shared/transport/nobodyServes.js';
import type { Transport } from '../../shared/transport/transport.js';
import { packOutcomes, type Sent, unpackCalls } from '../../shared/wire.js';
import { configOf, fixed, soon } from '../support/engine.js';
import { expectCode } from '../support/suites/expectations.js';

interface Received {
  readonly subject: string;
  readonly calls: readonly Sent<Call>[];
}

const areAnyCalls = (value: unknown): value is SentCall<Call>[] => Array.isArray(value);

/** Answers every call with its place in the message; nobody serves but `served`. */
class Wire implements Pick<Transport, 'request' | 'maxPayloadBytes'> {
  readonly received: Received[] = [];

  constructor(
    readonly maxPayloadBytes: number,
    private readonly served: string,
  ) {}

  async request(subject: string, body: Uint8Array): Promise<Uint8Array> {
    const calls = unpackCalls(body, areAnyCalls);
    this.received.push({ subject, calls });
    if (!subject.startsWith(this.served)) throw new NobodyServes();
    return packOutcomes(calls.map((_, place) => ({ ok: place })));
  }
}

const get = (id: number): Call => ({ op: 'get', id });
const rebuild: Call = { op: 'rebuild', kind: null };

describe('the way of calls to the owner', () => {
  const owned = (epoch: number) => ({
    epochOf: () => epoch,
    processOf: () => `${epoch} a session`,
    reread: async () => undefined,
  });

  it('calls of one turn for one collection share a message, reads and writes apart, in order', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    const queue = new CallQueue(wire, owned(3));
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

  it('no more calls share a message than their answers fit into one, whatever the server takes', async () => {
    for (const bound of [1 << 20, 16 << 20]) {
      const wire = new Wire(bound, 'vouch.c.');
      const queue = new CallQueue(wire, owned(1));
      await Promise.all(Array.from({ length: 200 }, (_, id) => queue.send(7, get(id), soon())));
      // A vector of the largest dimension and as much metadata as a record may have.
      for (const { calls } of wire.received) expect(calls.length * (4 * 32_768 + 65_536)).to.be.at.most(bound);
      const searches = new Wire(bound, 'vouch.c.');
      const query = fixed(1, 1);
      const asking = new CallQueue(searches, owned(1));
      await Promise.all(Array.from({ length: 200 }, () => asking.send(7, { op: 'search', query, k: 5_000 }, soon())));
      for (const { calls } of searches.received) expect(calls.length * 5_000 * 16).to.be.at.most(bound);
    }
  });

  it('where nobody serves, the owner is looked up anew and asked', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.7.2.');
    let epoch = 1;
    const owners = {
      epochOf: () => epoch,
      processOf: () => `${epoch} a session`,
      reread: async () => {
        epoch = 2;
      },
    };
    expect(await new CallQueue(wire, owners).send(7, get(1), soon())).to.equal(0);
    epoch = 1;
    expect(await new CallQueue(wire, owners).send(7, rebuild, soon())).to.equal(0);
    expect(wire.received.map(({ subject }) => subject)).to.deep.equal([
      'vouch.c.7.1.read',
      'vouch.c.7.2.read',
      'vouch.c.7.1.control',
      'vouch.c.7.2.control',
    ]);
  });

  it('what nobody owns ends as unavailable', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    const queue = new CallQueue(wire, { ...owned(1), epochOf: () => undefined });
    await expectCode(queue.send(7, get(1), soon()), 'unavailable');
    expect(wire.received).to.deep.equal([]);
  });

  it('control calls travel alone, beside the reads and writes of their collection', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    const queue = new CallQueue(wire, owned(3));
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

  it('a control call of unknown outcome is not sent again', async () => {
    const received: string[] = [];
    const lost = new Wire(16 << 20, '');
    lost.request = async (subject) => {
      received.push(subject);
      throw unavailable('the connection is lost');
    };
    const queue = new CallQueue(lost, owned(1));
    for (const call of [rebuild, { op: 'configureIndex', spec: EXACT }] as const)
      await expectCode(queue.send(7, call, soon()), 'unavailable');
    expect(received).to.have.length(2);
  });

  it('a control call ends when the process that was asked is gone, long before its deadline', async () => {
    const silent = new Wire(16 << 20, '');
    silent.request = () => new Promise(() => undefined);
    let session: string | undefined = 'one';
    const queue = new CallQueue(silent, { ...owned(1), processOf: () => session });
    const inAnHour = { requestId: 'test', deadlineMs: systemClock.nowMs() + 3_600_000 };
    for (const next of ['another', undefined]) {
      const outcome = expectCode(queue.send(7, rebuild, inAnHour), 'unavailable');
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      session = next;
      await outcome;
    }
  });
});

describe('the process that serves a collection', () => {
  it('is another one after a restart under the same name, a change of hands, or the end of its heartbeat', async () => {
    const [shards, owners] = [1, 2].map(() => new MemoryBucket({ logger: silentLogger })) as [
      MemoryBucket,
      MemoryBucket,
    ];
    const members = new Members(shards, owners, undefined as never, systemClock, 4_000);
    await members.start();
    const known: (string | undefined)[] = [members.processOf(7)];
    const note = async (change: Promise<unknown>): Promise<void> => {
      await change;
      known.push(members.processOf(7));
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
    const before = members.processOf(7);
    await shards.put('s1', { session: 'two', collections: 9, records: 9 });
    expect(members.processOf(7), 'a renewal changes nothing').to.equal(before);
    members.stop();
  });
});
