/**
 * kill -9 at any moment of reads and writes of an audited collection. Every answered read is in the access log once, with a state that
 * the log of the collection had. VOUCH_SEED replays the schedule of kills.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { titleIn } from '../support/atLength.js';
import { type Mode, type Project, Service } from '../support/launch/service.js';
import { seededRandom, testSeed } from '../support/model/random.js';

const READERS = 8;
const KILLS = 4;
const PAUSE_MS = 25;

interface Answered {
  readonly requestId: string;
  readonly ids: readonly number[];
}

interface Entry {
  readonly entry: number;
  readonly status: number;
  readonly actor: { readonly request_id: string };
  readonly ids?: readonly number[];
  readonly since?: number;
  readonly sequence: number;
  readonly state_hash: string;
}

async function underKills(service: Service, project: Project, seed: number): Promise<Answered[]> {
  const random = seededRandom(seed);
  const victims = service.mode === 'cluster' ? ['s1', 's2', 'coordinator', 'nats'] : ['standalone'];
  let running = true;
  const answered: Answered[] = [];
  const reader = async (number: number): Promise<void> => {
    for (let i = 0; running; i++) {
      const requestId = `r${number}-${i}`;
      const body = { collection: 'c', query: [number, i], k: 3 };
      const headers = { 'x-request-id': requestId };
      const answer = await project.ro.post('/v1/search', body, headers).catch(() => undefined);
      if (answer?.status === 200)
        answered.push({ requestId, ids: answer.body.results.map(({ id }: { id: number }) => id) });
      await delay(PAUSE_MS);
    }
  };
  const writer = async (): Promise<void> => {
    for (let i = 0; running; i++) {
      await project.rw.post('/v1/records', { collection: 'c', values: [i, i] }).catch(() => undefined);
      await delay(PAUSE_MS);
    }
  };
  const working = [writer(), ...Array.from({ length: READERS }, (_, i) => reader(i))];
  for (let i = 0; i < KILLS; i++) {
    const enough = answered.length + READERS;
    await service.until(async () => answered.length >= enough);
    await delay(random.int(400));
    const victim = random.pick(victims);
    await service.kill(victim);
    await service.restart(victim);
  }
  running = false;
  await Promise.all(working);
  return answered;
}

async function entriesOf(project: Project): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let after = 0; ; ) {
    const { status, body, text } = await project.admin.get(`/v1/access?collection=c&limit=1000&after=${after}`);
    expect(status, text).to.equal(200);
    entries.push(...body.entries);
    if (body.next === undefined) return entries;
    after = body.next;
  }
}

for (const mode of ['cluster', 'standalone'] as Mode[])
  describe(titleIn(mode, 'kill -9 under audited reads', 'cluster'), () => {
    let service: Service;
    before(async () => {
      service = await Service.start(mode);
    });
    after(() => service?.stop());

    it('leaves each answered read in the access log once, with a state that the collection had', async () => {
      const seed = testSeed();
      const project = await service.newProject();
      const collection = { name: 'c', dimension: 2, metric: 'squared_l2', audit_reads: true };
      expect((await project.rw.post('/v1/namespaces', collection)).status).to.equal(200);
      for (const values of [
        [0, 0],
        [1, 1],
        [2, 2],
      ])
        await project.rw.post('/v1/records', { collection: 'c', values });
      const answered = await underKills(service, project, seed);
      await service.until(async () => (await project.admin.get('/v1/access?collection=c')).status === 200);
      const entries = await entriesOf(project);
      expect(entries.map(({ entry }) => entry)).to.deep.equal(entries.map((_, i) => i + 1));
      const byRequest = new Map<string, Entry[]>();
      for (const entry of entries)
        byRequest.set(entry.actor.request_id, [...(byRequest.get(entry.actor.request_id) ?? []), entry]);
      for (const { requestId, ids } of answered) {
        const found = byRequest.get(requestId) ?? [];
        expect(
          found.map((entry) => entry.ids),
          requestId,
        ).to.deep.equal([ids]);
      }
      const states = new Map(entries.map(({ sequence, state_hash }) => [sequence, state_hash]));
      for (const [sequence, hash] of states) {
        const { body } = await project.ro.get(`/v1/proof/receipt?collection=c&sequence=${sequence}`);
        expect(body.state_hash, `state after event ${sequence}`).to.equal(hash);
      }
      expect(answered.length).to.be.above(20);
    });
  });
