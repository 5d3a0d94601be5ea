/** The quota of bytes over HTTP: one project is full, and others continue. */
import { expect } from 'chai';
import { atLength } from '../support/atLength.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Service } from '../support/launch/service.js';
import { exported, imported } from '../support/rigs/backups.js';

const LIMIT_BYTES = 80_000;
const DEFAULT_BYTES = 1_000_000_000;
const KEY = '5'.repeat(32);

interface Usage {
  readonly vectors: number;
  readonly metadata: number;
  readonly texts: number;
  readonly payloads: number;
  readonly log: number;
  readonly total: number;
  readonly limit: number;
}

const usage = async (client: Client): Promise<Usage> => (await client.get('/v1/usage')).body.bytes;

function expectFull({ status, body }: Answer): void {
  expect([status, body.code]).to.deep.equal([507, 'capacity_exceeded']);
}

inBothModes('the quota of bytes', (_, { start }) => {
  let service: Service;
  let full: Client;
  let other: Client;

  before(async () => {
    service = await start({
      VOUCH_MAX_BYTES: String(DEFAULT_BYTES),
      VOUCH_SNAPSHOT_EVERY_BYTES: '1000',
      VOUCH_MAX_BYTES_OF_PROJECTS: JSON.stringify({ p1: LIMIT_BYTES }),
    });
    full = (await service.newProject()).rw;
    other = (await service.newProject()).rw;
    for (const { rw } of [{ rw: full }, { rw: other }])
      for (const name of ['c', 'd'])
        expect((await rw.post('/v1/namespaces', { name, dimension: 100, metric: 'squared_l2' })).status).to.equal(200);
  });

  const values = new Array<number>(100).fill(1);
  const insert = (client: Client, collection = 'c', metadata: object | null = null) =>
    client.post('/v1/vectors/batch-insert', { collection, batch: [values], metadata: metadata && [metadata] });
  const encrypt = (client: Client, key_id = KEY) =>
    client.post('/v1/records/encrypted', { collection: 'c', payload: 'AAAA', key_id });

  it('reports the bytes by kind, their sum and the limit', async () => {
    await insert(other, 'c', { a: 1 });
    await other.post('/v1/records', { collection: 'd', values, text: 'words' });
    await encrypt(other);
    const bytes = await usage(other);
    expect(bytes).to.include({ vectors: 800, metadata: 7, texts: 5, payloads: 3 + 16, limit: DEFAULT_BYTES });
    expect(bytes.total).to.equal(800 + 7 + 5 + 19 + bytes.log);
    expect(bytes.log).to.equal((await other.get('/v1/usage')).body.storage.event_log_bytes);
    await other.delete(`/v1/crypto/shred/${KEY}`);
    expect(await usage(other)).to.include({ vectors: 800, payloads: 0 });
  });

  it('refuses writes with 507 at its limit and changes nothing; another project writes, and both search', async () => {
    let taken = 0;
    let answer = await insert(full);
    for (; answer.status === 200; answer = await insert(full, taken % 2 ? 'c' : 'd')) taken++;
    expectFull(answer);
    expect(answer.body.error).to.match(
      /^the quota of bytes is full: the project uses \d+ of 80000 bytes, and the request/,
    );
    const before = await usage(full);
    expect(before).to.include({ vectors: 400 * taken, limit: LIMIT_BYTES });
    expect(before.total).to.be.within(LIMIT_BYTES - 2_000, LIMIT_BYTES);
    expectFull(await insert(full, 'c', { a: 'x'.repeat(5_000) }));
    expectFull(await full.post('/v1/records', { collection: 'd', values, text: 'x'.repeat(2_000) }));
    const payload = Buffer.alloc(2_000).toString('base64');
    expectFull(await full.post('/v1/records/encrypted', { collection: 'c', payload }));
    expect(await usage(full)).to.deep.equal(before);
    expect((await insert(other)).status).to.equal(200);
    for (const client of [full, other]) {
      const { status, body } = await client.post('/v1/search', { collection: 'c', query: values, k: 1 });
      expect([status, body.results.length]).to.deep.equal([200, 1]);
    }
  });

  it('allows deletes at its limit, which free their bytes; a deleted collection frees its log too', async () => {
    const before = await usage(full);
    for (let id = 1; id <= 10; id++)
      expect((await full.post('/v1/delete', { collection: 'c', id })).status).to.equal(200);
    const freed = await usage(full);
    expect(freed.vectors).to.equal(before.vectors - 4_000);
    expect(freed.log).to.be.above(before.log);
    // The ten rows of 400 bytes make room for two records of 400 bytes, which are in the log too.
    expect((await insert(full, 'd')).status).to.equal(200);
    expect((await full.delete('/v1/namespaces/c')).status).to.equal(204);
    const { log } = await usage(full);
    expect(log).to.be.below(before.log * 0.6);
    for (let n = 0; n < 20; n++) expect((await insert(full, 'd')).status).to.equal(200);
  });

  it(atLength('counts the same after a restart, from the log or a snapshot, and after an import'), async () => {
    await encrypt(other, '6'.repeat(32));
    for (let n = 0; n < 5; n++)
      for (const answer of [await insert(full, 'd'), await insert(other), await insert(other, 'd')])
        expect(answer.status).to.equal(200);
    const [one, two] = [await usage(full), await usage(other)];
    await service.until(async () => (await other.get('/v1/usage')).body.storage.snapshot_bytes > 0);
    for (const name of service.processNames) await service.kill(name);
    for (const name of service.processNames) await service.restart(name);
    await service.until(async () => (await full.get('/v1/usage')).status === 200);
    expect(await usage(full)).to.deep.equal(one);
    expect(await usage(other)).to.deep.equal(two);
    for (const client of [full, other])
      for (const collection of ['c', 'd']) await client.post('/v1/search', { collection, query: values, k: 1 });
    expect(await usage(full)).to.deep.equal(one);
    expect(await usage(other)).to.deep.equal(two);
    const third = (await service.newProject()).rw;
    for (const collection of ['c', 'd']) await imported(third, await exported(other, collection), collection);
    expect(await usage(third)).to.deep.equal(two);
  });
});
