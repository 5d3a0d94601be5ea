/** Three real nats-servers keep the promises on which the product relies, while each is killed in turn. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { connect, type JetStreamClient, type JetStreamManager, type NatsConnection } from 'nats';
import { eventually } from '../support/expectations.js';
import { startTestNatsCluster, type TestNatsCluster } from '../support/nats/natsCluster.js';

const STREAM = 'PROMISES';
const ROUNDS_PER_KILL = 40;
const BURST = 200;
const TRY_MS = 2_000;

describe('three nats-servers, each killed in turn', function () {
  this.timeout(300_000);
  let nats: TestNatsCluster;
  let connections: NatsConnection[];
  let clients: JetStreamClient[];
  let manager: JetStreamManager;

  before(async () => {
    nats = await startTestNatsCluster();
    const servers = nats.url.split(',');
    const reconnect = { maxReconnectAttempts: -1, reconnectTimeWait: 50 };
    connections = await Promise.all(
      servers.map((_, at) =>
        connect({ servers: [...servers.slice(at), ...servers.slice(0, at)], ...reconnect, noRandomize: true }),
      ),
    );
    clients = connections.map((each) => each.jetstream({ timeout: TRY_MS }));
    manager = await connections[0]!.jetstreamManager({ timeout: TRY_MS });
    await manager.streams.add({ name: STREAM, subjects: ['p.>'], num_replicas: 3, allow_direct: true });
  });
  after(async () => {
    for (const each of connections) await each.close();
    await nats.stop();
  });

  /** Asks until a leader answers. Returns 0 without a message. */
  const lastOf = async (subject: string): Promise<number> => {
    for (let left = 60; ; left--)
      try {
        return (await manager.streams.getMessage(STREAM, { last_by_subj: subject })).seq;
      } catch (error) {
        if (/no message found/.test((error as Error).message)) return 0;
        if (left === 0) throw error;
        await delay(100);
      }
  };

  const eachKilled = async (work: (killed: string) => Promise<void>): Promise<void> => {
    for (let kills = 0; kills < nats.names.length; kills++) {
      const leader = (await nats.leaderOf(STREAM)) ?? nats.names[kills]!;
      await work(leader);
      await nats.startServer(leader);
      await eventually('the killed server is up', async () => (await nats.leaderOf(STREAM)) !== undefined);
    }
  };

  const countOf = async (subject: string): Promise<number> => {
    for (let left = 60; ; left--)
      try {
        const { state } = await manager.streams.info(STREAM, { subjects_filter: subject });
        return state.subjects?.[subject] ?? 0;
      } catch (error) {
        if (left === 0) throw error;
        await delay(100);
      }
  };

  it('store only one of several messages with the same expected predecessor, even for a new subject', async () => {
    let subjects = 0;
    let unknown = 0;
    await eachKilled(async (leader) => {
      const dead = delay(150).then(() => nats.killServer(leader));
      for (let round = 0; round < ROUNDS_PER_KILL; round++) {
        const subject = `p.one.${++subjects % 7 === 0 ? subjects : 'same'}`;
        const before = await lastOf(subject);
        const count = await countOf(subject);
        const outcomes = await Promise.allSettled(
          [...clients, ...clients].map((js, i) =>
            js.publish(subject, `${round} ${i}`, { expect: { lastSubjectSequence: before } }),
          ),
        );
        const stored = outcomes.filter(({ status }) => status === 'fulfilled').length;
        unknown += outcomes.filter(
          (each) => each.status === 'rejected' && !/wrong last/.test(String(each.reason)),
        ).length;
        expect(stored, `acknowledged behind ${before}`).to.be.at.most(1);
        await lastOf(subject);
        expect((await countOf(subject)) - count, `stored behind ${before}`).to.be.within(stored, 1);
      }
      await dead;
    });
    process.stdout.write(`      ${subjects} rounds, ${unknown} of unknown outcome\n`);
  });

  it('answer only through their leader, which has everything acknowledged', async () => {
    await eachKilled(async (leader) => {
      let last = 0;
      for (let sent = 0; sent < BURST; sent++) last = (await clients[1]!.publish('p.read', String(sent))).seq;
      await nats.killServer(leader);
      expect(await lastOf('p.read')).to.be.at.least(last);
    });
  });

  it('have equal messages under each number once all are up', async () => {
    const { last_seq: end } = (await manager.streams.info(STREAM)).state;
    const stored = async (url: string): Promise<string[]> => {
      const own = await connect({ servers: url });
      const messages: string[] = [];
      for (let seq = 1; seq <= end; seq++) {
        const { headers, data } = await own.request(`$JS.API.DIRECT.GET.${STREAM}`, JSON.stringify({ seq }));
        messages.push(`${headers?.get('Nats-Sequence')} ${headers?.get('Nats-Subject')} ${Buffer.from(data)}`);
      }
      await own.close();
      return messages;
    };
    const [one, ...others] = await Promise.all(nats.url.split(',').map(stored));
    for (const other of others) expect(other).to.deep.equal(one);
  });
});
