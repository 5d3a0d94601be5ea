/**
 * kill -9 at any moment of shreds and inserts under the same keys. Once everything runs again, a shred is either undone
 * or complete; an answered shred is complete at every later moment. VOUCH_SEED replays the schedule.
 */
import { expect } from 'chai';
import { atLength } from '../support/atLength.js';
import { onceServed } from '../support/launch/persistently.js';
import { type Project, Service } from '../support/launch/service.js';
import { type SeededRandom, seededRandom, testSeed } from '../support/model/random.js';
import { recoverable, secretsOf } from '../support/rigs/vaultSecrets.js';

const COLLECTIONS = ['a', 'b', 'c', 'd'] as const;
const KEYS = 16;
/** Numbers of kills, in `npm test` and at length. */
const [KILLS, MANY_KILLS] = [3, 6];
const PAYLOAD = Buffer.from('sealed').toString('base64');
const keyOf = (n: number): string => (n + 1).toString(16).padStart(32, '0');

interface Inserted {
  readonly collection: string;
  readonly id: number;
}

interface Key {
  readonly keyId: string;
  readonly wrapped: Uint8Array;
  readonly halves: readonly Uint8Array[];
  /** Answered inserts. */
  readonly inserted: Inserted[];
  isShredded: boolean;
}

const byId = (keys: readonly Key[]): Record<string, Key> => Object.fromEntries(keys.map((key) => [key.keyId, key]));

const insertUnder = async (project: Project, key: Key, collection: string): Promise<void> => {
  const body = { collection, payload: PAYLOAD, key_id: key.keyId };
  const answer = await project.rw.post('/v1/records/encrypted', body).catch(() => undefined);
  if (answer?.status === 200) key.inserted.push({ collection, id: answer.body.id });
  // Refused because of the shred, or unanswered because of a kill.
  else if (answer !== undefined) expect(answer.status, answer.text).to.be.oneOf([400, 503]);
};

/** Sends one shred. Returns whether it was answered. */
async function shredOnce(project: Project, key: Key): Promise<boolean> {
  const answer = await project.rw.delete(`/v1/crypto/shred/${key.keyId}`).catch(() => undefined);
  if (answer !== undefined && answer.status !== 200) expect(answer.status, answer.text).to.equal(503);
  if (answer?.status === 200) key.isShredded = true;
  return answer?.status === 200;
}

/** Sends half of the shreds only once, whatever their outcome. */
async function shredAll(project: Project, keys: readonly Key[], random: SeededRandom): Promise<void> {
  for (const key of keys) {
    const insistent = random.next() < 0.5;
    const inserts = [insertUnder(project, key, random.pick(COLLECTIONS))];
    while (!(await shredOnce(project, key)) && insistent) await new Promise((resolve) => setTimeout(resolve, 30));
    if (key.isShredded) await expectLost(project, key);
    await Promise.all(inserts);
    await new Promise((resolve) => setTimeout(resolve, random.int(60)));
  }
}

/** No answer contradicts the shred; calls without an answer show nothing. */
async function expectLost(project: Project, { keyId, inserted }: Key): Promise<void> {
  const status = await project.ro.get(`/v1/crypto/status/${keyId}`).catch(() => undefined);
  if (status?.status === 200) expect(status.body.status).to.equal('shredded');
  for (const { collection, id } of inserted) {
    const got = await project.ro.get(`/v1/records/encrypted/${id}?collection=${collection}`).catch(() => undefined);
    if (got !== undefined) expect(got.status, got.text).to.be.oneOf([410, 503]);
  }
}

for (const [mode, kills] of [
  ['cluster', KILLS],
  ['cluster', MANY_KILLS],
  ['standalone', MANY_KILLS],
] as const) {
  const title = `kill -9 while keys are shredded (${mode})`;
  describe(kills === KILLS ? title : atLength(title), () => {
    let service: Service;
    before(async () => {
      service = await Service.start(mode);
    });
    after(() => service?.stop());

    const processes = (): string[] => [...(mode === 'cluster' ? ['nats'] : []), ...service.processNames];
    const countOf = async (project: Project): Promise<number> => {
      const { body } = await onceServed(() => project.rw.get('/v1/namespaces'));
      return body.collections.reduce((sum: number, one: { record_count: number }) => sum + one.record_count, 0);
    };

    async function prepare(project: Project): Promise<Key[]> {
      for (const name of COLLECTIONS)
        await project.rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
      const keys: Key[] = [];
      for (let n = 0; n < KEYS; n++) {
        const key: Key = { keyId: keyOf(n), wrapped: new Uint8Array(0), halves: [], inserted: [], isShredded: false };
        for (const collection of COLLECTIONS.slice(0, 1 + (n % COLLECTIONS.length)))
          await insertUnder(project, key, collection);
        const { wrapped, halves } = await secretsOf(service, project.name, key.keyId);
        keys.push({ ...key, wrapped, halves });
      }
      return keys;
    }

    it('leaves each shred undone or complete, and every answered one complete', async () => {
      const random = seededRandom(testSeed());
      const project = await service.newProject();
      const keys = await prepare(project);
      const shredding = shredAll(project, keys, random);
      for (let kill = 0; kill < kills; kill++) {
        await new Promise((resolve) => setTimeout(resolve, 20 + random.int(250)));
        const victim = random.pick(processes());
        await service.kill(victim);
        await service.restart(victim);
      }
      await shredding;
      for (const name of processes()) await service.kill(name);
      for (const name of processes()) await service.restart(name);

      let undone = 0;
      for (const key of keys) {
        const asked = key.inserted.map(({ collection, id }) =>
          onceServed(() => project.ro.get(`/v1/records/encrypted/${id}?collection=${collection}`)),
        );
        const statuses = (await Promise.all(asked)).map(({ status }) => status);
        const { body } = await onceServed(() => project.ro.get(`/v1/crypto/status/${key.keyId}`));
        if (body.status === 'active') undone++;
        expect(body.status, `an answered shred of ${key.keyId}`).to.be.oneOf(
          key.isShredded ? ['shredded'] : ['shredded', 'active'],
        );
        const wanted = body.status === 'active' ? 200 : 410;
        expect(new Set(statuses), key.keyId).to.deep.equal(new Set([wanted]));
        for (const { collection, id } of key.inserted)
          await service.until(async () => {
            const { status } = await project.ro.get(`/v1/records/${id}?collection=${collection}`);
            return status === (wanted === 200 ? 200 : 404);
          });
      }
      const shredded = keys.filter(({ isShredded }) => isShredded);
      expect(shredded.length).to.be.at.least(1);
      expect(await recoverable(service, byId(shredded))).to.deep.equal([]);

      for (const key of keys) await service.until(() => shredOnce(project, key));
      for (const key of keys) await expectLost(project, key);
      expect(await countOf(project), `after ${undone} undone ones were repeated`).to.equal(0);
      expect(await recoverable(service, byId(keys))).to.deep.equal([]);
    });
  });
}
