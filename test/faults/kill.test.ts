/**
 * kill -9 at any moment of a write load. No answered write is lost or missed by the next search, whatever the index. No
 * retry makes a second record, and every receipt still verifies. VOUCH_SEED replays the schedule of kills and the
 * writes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { verifyReceipt, type WriteReceipt } from '../../verifier/receipt.js';
import { atLength } from '../support/atLength.js';
import { answered } from '../support/launch/answers.js';
import type { Answer } from '../support/launch/client.js';
import { onceServed } from '../support/launch/persistently.js';
import { type Project, Service } from '../support/launch/service.js';
import { seededRandom, testSeed } from '../support/model/random.js';

const WRITERS = 6;
/** Numbers of kills, in `npm test` and at length. */
const [KILLS, MANY_KILLS] = [3, 6];
/** Pause of each writer between a search and its next write, which leaves the machine to the service. */
const PAUSE_MS = 25;
const COLLECTIONS = ['a', 'b', 'c'] as const;
const INDEXES = { a: 'hnsw', b: 'ivf', c: 'bq' } as const;
/** Earlier records, far from the written ones: enough for an index. */
const BEFORE = 1_200;

/** One record of an answered write; batches have no receipts. */
interface Written {
  readonly collection: string;
  readonly requestId: string;
  readonly values: readonly number[];
  readonly id: number;
  readonly receipt: WriteReceipt | undefined;
}

/** Content of one request: one record, or a batch. */
interface Write {
  readonly collection: string;
  readonly rows: readonly { readonly requestId: string; readonly values: readonly number[] }[];
}

async function createIndexed(project: Project, name: keyof typeof INDEXES): Promise<void> {
  await project.rw.post('/v1/namespaces', { name, dimension: 3, metric: 'squared_l2', index: INDEXES[name] });
  const batch = Array.from({ length: BEFORE }, (_, i) => [-1 - (i % 40), -1 - Math.floor(i / 40), -1 - (i % 7)]);
  expect((await project.rw.post('/v1/vectors/batch-insert', { collection: name, batch })).status).to.equal(200);
}

/** Repeats the write under its request ids until it is answered. */
async function writeUntilAnswered(project: Project, { collection, rows }: Write): Promise<Written[]> {
  const [first] = rows;
  const isSingle = rows.length === 1 && first !== undefined;
  const send = (): Promise<Answer> =>
    isSingle
      ? project.rw.post('/v1/records', { collection, values: first.values, request_id: first.requestId })
      : project.rw.post('/v1/vectors/batch-insert', {
          collection,
          batch: rows.map(({ values }) => values),
          request_ids: rows.map(({ requestId }) => requestId),
        });
  for (;;) {
    const answer = await send().catch(() => undefined);
    if (answer?.status === 200) {
      const ids: number[] = isSingle ? [answer.body.id] : answer.body.ids;
      const receipt = isSingle ? answer.body.receipt : undefined;
      return rows.map((row, i) => ({ ...row, collection, id: ids[i] as number, receipt }));
    }
    if (answer !== undefined)
      expect([answer.status, answer.body?.code], answer.text).to.deep.equal([503, 'unavailable']);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

/** The writer's next search finds every answered write; it may fail, but not answer without them. */
async function expectFound(project: Project, { collection, values, id }: Written): Promise<void> {
  const found = await project.rw.post('/v1/search', { collection, query: values, k: 1 }).catch(() => undefined);
  if (found?.status === 200) expect(found.body.results, 'the answered write').to.deep.equal([{ id, score: 0 }]);
  else if (found !== undefined) expect(found.body?.code, found.text).to.equal('unavailable');
}

async function underKills(service: Service, project: Project, seed: number, kills: number): Promise<Written[]> {
  const random = seededRandom(seed);
  const victims = service.mode === 'cluster' ? ['s1', 's2', 'coordinator', 'nats'] : ['standalone'];
  let running = true;
  const writer = async (number: number): Promise<Written[]> => {
    const own = seededRandom(seed + number);
    const written: Written[] = [];
    for (let i = 0; running; ) {
      const size = own.int(3) > 0 ? 1 : 2 + own.int(20);
      const rows = Array.from({ length: size }, () => ({
        requestId: `${number.toString(16).padStart(8, '0')}${i.toString(16).padStart(24, '0')}`,
        values: [own.int(1_000), number, i++],
      }));
      const answered = await writeUntilAnswered(project, { collection: own.pick(COLLECTIONS), rows });
      written.push(...answered);
      await expectFound(project, own.pick(answered));
      await delay(PAUSE_MS);
    }
    return written;
  };
  const writers = Array.from({ length: WRITERS }, (_, i) => writer(i + 1));
  for (let i = 0; i < kills; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50 + random.int(400)));
    const victim = random.pick(victims);
    await service.kill(victim);
    await service.restart(victim);
  }
  running = false;
  return (await Promise.all(writers)).flat();
}

/** The receipts of a collection form one history: each sequence once, and equal roots between neighbours. */
function expectOneChain(mine: readonly Written[], collection: string): void {
  const receipts = mine.flatMap(({ receipt }) => receipt ?? []).sort((a, b) => a.sequence - b.sequence);
  for (const [i, receipt] of receipts.entries()) {
    const before = receipts[i - 1];
    if (before === undefined) continue;
    expect(receipt.sequence, `sequences of ${collection} differ`).to.be.above(before.sequence);
    expect(receipt.timestamp).to.be.at.least(before.timestamp);
    if (receipt.sequence === before.sequence + 1) expect(receipt.old_root).to.equal(before.new_root);
  }
}

async function assertNothingLost(project: Project, written: readonly Written[]): Promise<void> {
  for (const collection of COLLECTIONS) {
    const mine = written.filter((one) => one.collection === collection);
    answered(await onceServed(() => project.rw.post('/v1/search', { collection, query: [0, 0, 0], k: 1 })));
    expect(new Set(mine.map(({ id }) => id)).size, 'each id once').to.equal(mine.length);
    for (const { id, values, receipt } of mine) {
      const { vector } = answered(await onceServed(() => project.rw.get(`/v1/records/${id}?collection=${collection}`)));
      expect(vector, `record ${id} of ${collection}`).to.deep.equal(values);
      if (receipt !== undefined) expect(verifyReceipt(receipt), `receipt of ${id}`).to.deep.equal([]);
    }
    const { collections } = answered(await onceServed(() => project.rw.get('/v1/namespaces')));
    const counted = collections.find((one: { name: string }) => one.name === collection);
    expect(counted.record_count, 'no retry made a second record').to.equal(BEFORE + mine.length);
    for (const { requestId, id, receipt, values } of mine.slice(-5)) {
      const body = { collection, values, request_id: requestId };
      const replay = answered(await onceServed(() => project.rw.post('/v1/records', body)));
      expect(replay).to.include({ id, deduplicated: true });
      expect(verifyReceipt(replay.receipt)).to.deep.equal([]);
      if (receipt !== undefined) expect(replay.receipt).to.deep.equal(receipt);
    }
    expectOneChain(mine, collection);
  }
}

for (const [mode, kills] of [
  ['cluster', KILLS],
  ['cluster', MANY_KILLS],
  ['standalone', MANY_KILLS],
] as const) {
  const title = `kill -9 under a write load (${mode})`;
  describe(kills === KILLS ? title : atLength(title), () => {
    let service: Service;
    before(async () => {
      service = await Service.start(mode);
    });
    after(() => service?.stop());

    it('loses no answered write and makes none twice', async () => {
      const seed = testSeed();
      const project = await service.newProject();
      for (const name of COLLECTIONS) await createIndexed(project, name);
      const written = await underKills(service, project, seed, kills);
      expect(written.length).to.be.above(kills);
      await assertNothingLost(project, written);
      for (const name of [...(mode === 'cluster' ? ['nats'] : []), ...service.processNames]) await service.kill(name);
      for (const name of [...(mode === 'cluster' ? ['nats'] : []), ...service.processNames])
        await service.restart(name);
      await assertNothingLost(project, written);
    });
  });
}
