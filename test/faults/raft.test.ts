/** A service on three nats-servers, every bucket and stream on all of them: one may always be away. */
import { expect } from 'chai';
import { verifyReceipt, type WriteReceipt } from '../../scripts/verifier/receipt.js';
import { startTestNatsCluster, type TestNatsCluster } from '../support/natsCluster.js';
import { seededRandom, testSeed } from '../support/random.js';
import { type Project, Service } from '../support/service.js';

const WRITERS = 4;
const ROUNDS = 5;

interface Written {
  readonly requestId: string;
  readonly value: number;
  readonly id: number;
  readonly sequence: number;
}

const requestIdOf = (writer: number, n: number): string =>
  `${writer.toString(16).padStart(8, '0')}${n.toString(16).padStart(24, '0')}`;

// How long three servers take to agree after each kill is theirs to say: too long, now and then, for a run of all tests.
const describeOnDemand = process.env.VOUCH_THREE_SERVERS === '1' ? describe : describe.skip;

describeOnDemand('three nats-servers', function () {
  this.timeout(240_000);
  let nats: TestNatsCluster;
  let service: Service;
  let project: Project;

  before(async () => {
    nats = await startTestNatsCluster();
    service = await Service.start('cluster', { VOUCH_REPLICAS: '3' }, nats);
    project = await service.newProject();
    await service.until(async () => {
      const { status } = await project.rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
      return status === 200;
    }, 60_000);
  });
  after(() => service?.stop());

  const insert = (value: number, requestId: string) =>
    project.rw.post('/v1/records', { collection: 'c', values: [value], request_id: requestId });

  /** Until it is answered. Anything but an answer or 503 is a fault. */
  const write = async (value: number, requestId: string): Promise<Written> => {
    for (;;) {
      const answer = await insert(value, requestId).catch(() => undefined);
      if (answer?.status === 200) {
        const receipt = answer.body.receipt as WriteReceipt;
        expect(verifyReceipt(receipt)).to.deep.equal([]);
        return { requestId, value, id: answer.body.id, sequence: receipt.sequence };
      }
      if (answer !== undefined)
        expect([answer.status, answer.body?.code], answer.text).to.deep.equal([503, 'unavailable']);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };

  const expectAll = async (written: readonly Written[]): Promise<void> => {
    await service.until(async () => (await project.rw.get('/v1/records/1?collection=c')).status === 200, 60_000);
    for (const { id, value } of written) {
      const { body } = await project.rw.get(`/v1/records/${id}?collection=c`);
      expect(body.vector, `record ${id}`).to.deep.equal([value]);
    }
    const listed = await project.rw.get('/v1/namespaces');
    expect(listed.body.collections[0].record_count, 'a retry made a second record').to.equal(written.length);
    expect(new Set(written.map(({ sequence }) => sequence)).size).to.equal(written.length);
  };

  it('lose one after the other under a write load, the leader too, and no answered write with them', async () => {
    const random = seededRandom(testSeed());
    const { id } = (await project.rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' })).body;
    const stream = `VOUCH_LOG_${id % 4}`;
    let running = true;
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      const own: Written[] = [];
      for (let n = 0; running; n++) own.push(await write(writer * 10_000 + n, requestIdOf(writer, n)));
      return own;
    });
    for (let round = 0; round < ROUNDS; round++) {
      await new Promise((resolve) => setTimeout(resolve, 300 + random.int(500)));
      // The one that orders the collection's commits, every other time.
      const victim = (round % 2 === 0 ? await nats.leaderOf(stream) : undefined) ?? random.pick(nats.names);
      await nats.killServer(victim);
      await new Promise((resolve) => setTimeout(resolve, random.int(3_000)));
      await nats.startServer(victim);
    }
    running = false;
    const written = (await Promise.all(writers)).flat();
    expect(written.length).to.be.above(ROUNDS);
    await expectAll(written);
    for (const { value, requestId, id: recordId } of written.slice(-3)) {
      const replay = await insert(value, requestId);
      expect(replay.body).to.include({ id: recordId, deduplicated: true });
    }
  });

  it('answer 503 without a majority, and serve again when it is back', async () => {
    const [one, two] = nats.names;
    await nats.killServer(one!);
    await nats.killServer(two!);
    await service.until(async () => (await service.client(undefined).get('/health')).status === 503, 60_000);
    const refused = await insert(-1, requestIdOf(99, 1));
    expect([refused.status, refused.body?.code], refused.text).to.deep.equal([503, 'unavailable']);
    expect(refused.headers.get('retry-after')).to.match(/^\d+$/);
    await nats.startServer(one!);
    await nats.startServer(two!);
    const { id, sequence } = await write(-1, requestIdOf(99, 1));
    expect(sequence).to.equal(id);
    await service.until(async () => (await service.client(undefined).get('/health')).status === 200, 60_000);
    const found = await project.rw.post('/v1/search', { collection: 'c', query: [-1], k: 1 });
    expect(found.body.results).to.deep.equal([{ id, score: 0 }]);
  });
});
