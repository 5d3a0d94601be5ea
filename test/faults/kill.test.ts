/**
 * kill -9 at any moment of a write load: no answered write is lost, no retry makes a second record, and every receipt
 * still checks. Seeded: the schedule of kills and the writes replay from VOUCH_SEED.
 */
import { expect } from 'chai';
import { verifyReceipt } from '../../scripts/verifier/receipt.js';
import { seededRandom, testSeed } from '../support/random.js';
import { type Mode, type Project, Service } from '../support/service.js';

const WRITERS = 6;
const KILLS = 10;
const COLLECTIONS = ['a', 'b', 'c'] as const;

interface Written {
  readonly collection: string;
  readonly requestId: string;
  readonly values: readonly number[];
  readonly id: number;
  readonly receipt: Parameters<typeof verifyReceipt>[0];
}

/** One write, sent again and again under the same request id until it is answered. */
async function writeUntilAnswered(
  project: Project,
  collection: string,
  requestId: string,
  values: number[],
): Promise<Written> {
  const body = { collection, values, request_id: requestId };
  for (;;) {
    const answer = await project.rw.post('/v1/records', body).catch(() => undefined);
    if (answer?.status === 200)
      return { collection, requestId, values, id: answer.body.id, receipt: answer.body.receipt };
    if (answer !== undefined) expect(answer.status, answer.text).to.equal(503);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

async function underKills(service: Service, project: Project, seed: number): Promise<Written[]> {
  const random = seededRandom(seed);
  const victims = service.mode === 'cluster' ? ['s1', 's2', 'coordinator', 'nats'] : ['standalone'];
  let running = true;
  const writer = async (number: number): Promise<Written[]> => {
    const own = seededRandom(seed + number);
    const written: Written[] = [];
    for (let i = 0; running; i++) {
      const requestId = `${number.toString(16).padStart(8, '0')}${i.toString(16).padStart(24, '0')}`;
      const values = [own.int(1_000), number, i];
      written.push(await writeUntilAnswered(project, own.pick(COLLECTIONS), requestId, values));
    }
    return written;
  };
  const writers = Array.from({ length: WRITERS }, (_, i) => writer(i + 1));
  for (let i = 0; i < KILLS; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50 + random.int(400)));
    const victim = random.pick(victims);
    await service.kill(victim);
    await service.restart(victim);
  }
  running = false;
  return (await Promise.all(writers)).flat();
}

async function assertNothingLost(service: Service, project: Project, written: readonly Written[]): Promise<void> {
  await service.until(async () => (await project.rw.get('/v1/namespaces')).status === 200, 30_000);
  for (const collection of COLLECTIONS) {
    const mine = written.filter((one) => one.collection === collection);
    await service.until(
      async () => (await project.rw.post('/v1/search', { collection, query: [0, 0, 0], k: 1 })).status === 200,
      30_000,
    );
    expect(new Set(mine.map(({ id }) => id)).size, 'an id was answered twice').to.equal(mine.length);
    for (const { id, values, receipt } of mine) {
      const got = await project.rw.get(`/v1/records/${id}?collection=${collection}`);
      expect(got.body.vector, `record ${id} of ${collection}`).to.deep.equal(values);
      expect(verifyReceipt(receipt), `receipt of ${id}`).to.deep.equal([]);
    }
    const list = await project.rw.get('/v1/namespaces');
    const counted = list.body.collections.find((one: { name: string }) => one.name === collection);
    expect(counted.record_count, 'a retry made a second record').to.equal(mine.length);
    for (const { requestId, id, receipt, values } of mine.slice(-5)) {
      const replay = await project.rw.post('/v1/records', { collection, values, request_id: requestId });
      expect(replay.body).to.deep.equal({ id, deduplicated: true, receipt });
    }
  }
}

for (const mode of ['cluster', 'standalone'] as Mode[])
  describe(`kill -9 under a write load (${mode})`, function () {
    this.timeout(180_000);
    let service: Service;
    before(async () => {
      service = await Service.start(mode);
    });
    after(() => service?.stop());

    it('loses no answered write and makes none twice', async () => {
      const seed = testSeed();
      const project = await service.newProject();
      for (const name of COLLECTIONS)
        await project.rw.post('/v1/namespaces', { name, dimension: 3, metric: 'squared_l2' });
      const written = await underKills(service, project, seed);
      expect(written.length).to.be.above(KILLS);
      await assertNothingLost(service, project, written);
      for (const name of [...(mode === 'cluster' ? ['nats'] : []), ...service.processNames]) await service.kill(name);
      for (const name of [...(mode === 'cluster' ? ['nats'] : []), ...service.processNames])
        await service.restart(name);
      await assertNothingLost(service, project, written);
    });
  });
