/** How calls travel to the shards: together where that fits, and to the owner of the moment. */
import { expect } from 'chai';
import { CallQueue } from '../../coordinator/cluster/callQueue.js';
import type { Call } from '../../shared/calls.js';
import { NobodyServes } from '../../shared/transport/nobodyServes.js';
import type { Transport } from '../../shared/transport/transport.js';
import { packOutcomes, type Sent, unpackCalls } from '../../shared/wire.js';
import { fixed, soon } from '../support/engine.js';
import { expectCode } from '../support/suites/expectations.js';

interface Received {
  readonly subject: string;
  readonly calls: readonly Sent<Call>[];
}

/** Answers every call with its place in the message; nobody serves but `served`. */
class Wire implements Transport {
  readonly received: Received[] = [];

  constructor(
    readonly maxPayloadBytes: number,
    private readonly served: string,
  ) {}

  async request(subject: string, body: Uint8Array): Promise<Uint8Array> {
    const calls = unpackCalls<Call>(body);
    this.received.push({ subject, calls });
    if (!subject.startsWith(this.served)) throw new NobodyServes();
    return packOutcomes(calls.map((_, place) => ({ ok: place })));
  }

  serve(): never {
    throw new Error('a coordinator serves nothing');
  }
}

const get = (id: number): Call => ({ op: 'get', id });

describe('the way of calls to the owner', () => {
  const owned = (epoch: number) => ({ epochOf: () => epoch, reread: async () => undefined });

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
    const queue = new CallQueue(wire, {
      epochOf: () => epoch,
      reread: async () => {
        epoch = 2;
      },
    });
    expect(await queue.send(7, get(1), soon())).to.equal(0);
    expect(wire.received.map(({ subject }) => subject)).to.deep.equal(['vouch.c.7.1.read', 'vouch.c.7.2.read']);
  });

  it('what nobody owns ends as unavailable', async () => {
    const wire = new Wire(16 << 20, 'vouch.c.');
    const queue = new CallQueue(wire, { epochOf: () => undefined, reread: async () => undefined });
    await expectCode(queue.send(7, get(1), soon()), 'unavailable');
    expect(wire.received).to.deep.equal([]);
  });
});
