// Covers: coordinator/access/, coordinator/contract/access.ts, coordinator/handlers/access.ts
// Covers: shard/access/collectionAccess.ts, shared/model/readAudit.ts, shared/protocol/access.ts
/** The access log of a collection over HTTP: every read is an entry, with who asked, what was answered, and from which state. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { toHex } from '../../shared/hashing/hash.js';
import { afterAccessFrame, decodeAccessFrame } from '../../shared/log/accessFrame.js';
import { atLength } from '../support/atLength.js';
import type { Answer, Client } from '../support/launch/client.js';
import { runAccessExport, succeeded } from '../support/launch/commands.js';
import { inBothModes } from '../support/launch/modes.js';
import { verify, withFolder } from '../support/launch/runVerify.js';
import type { Project } from '../support/launch/service.js';
import { exported, imported } from '../support/rigs/backups.js';

interface Entry {
  readonly entry: number;
  readonly kind: string;
  readonly status: number;
  readonly [field: string]: unknown;
}

inBothModes('the access log', (service) => {
  let project: Project;
  let reader: Project['ro'];
  let keyId: string;
  const create = (name: string, more: object = {}) =>
    project.rw.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2', ...more });
  const page = async (query = '', collection = 'c') => {
    const { status, body, text } = await project.admin.get(`/v1/access?collection=${collection}${query}`);
    expect(status, text).to.equal(200);
    return body as { entries: Entry[]; size: number; next?: number; root: string; chain_head: string };
  };
  const kinds = async (query = '') => (await page(query)).entries.map(({ kind, status }) => `${kind} ${status}`);
  const audit = (audit_reads: unknown, name = 'c', client: Client = project.admin) =>
    client.patch(`/v1/namespaces/${name}`, { audit_reads });

  beforeEach(async () => {
    project = await service.newProject();
    reader = project.ro;
    expect((await create('c', { audit_reads: true })).status).to.equal(200);
    keyId = (await reader.get('/v1/keys/self')).body.id;
    const batch = {
      collection: 'c',
      batch: [
        [1, 0],
        [2, 0],
        [3, 0],
      ],
      external_ids: ['a', 'b', 'c'],
    };
    const metadata = [{ k: 1 }, { k: 2 }, { k: 2 }];
    expect((await project.rw.post('/v1/vectors/batch-upsert', { ...batch, metadata })).status).to.equal(200);
    await project.rw.post('/v1/graph/node', { collection: 'c', kind: 0, record_id: 1 });
  });

  it('has one entry for each kind of read, and none for writes', async () => {
    const reads: [kind: string, asked: () => Promise<Answer>][] = [
      ['POST /v1/search', () => reader.post('/v1/search', { collection: 'c', query: [1, 0], k: 2 })],
      ['POST /v1/search/text', () => reader.post('/v1/search/text', { collection: 'c', query_text: 'word', k: 2 })],
      [
        'POST /v1/search/batch',
        () => reader.post('/v1/search/batch', { collection: 'c', searches: [{ query: [1, 0], k: 1 }] }),
      ],
      ['POST /v1/search/multi', () => reader.post('/v1/search/multi', { collections: ['c'], query: [1, 0], k: 2 })],
      ['GET /v1/records/{id}', () => reader.get('/v1/records/1?collection=c')],
      ['GET /v1/records/by-external-id', () => reader.get('/v1/records/by-external-id?collection=c&external_id=a')],
      ['POST /v1/records/get', () => reader.post('/v1/records/get', { collection: 'c', ids: [1, 2] })],
      ['GET /v1/records', () => reader.get('/v1/records?collection=c')],
      ['POST /v1/records/list', () => reader.post('/v1/records/list', { collection: 'c' })],
      ['GET /v1/records/count', () => reader.get('/v1/records/count?collection=c')],
      ['POST /v1/records/count', () => reader.post('/v1/records/count', { collection: 'c' })],
      ['GET /v1/facets', () => reader.get('/v1/facets?collection=c&key=k')],
      ['GET /v1/graph/nodes', () => reader.get('/v1/graph/nodes?collection=c')],
      ['GET /v1/graph/node/{id}', () => reader.get('/v1/graph/node/1?collection=c')],
      ['GET /v1/timeline', () => reader.get('/v1/timeline?collection=c')],
      ['GET /v1/proof/state', () => reader.get('/v1/proof/state?collection=c')],
      ['GET /v1/proof/receipt', () => reader.get('/v1/proof/receipt?collection=c&sequence=2')],
      ['GET /v1/proof/inclusion', () => reader.get('/v1/proof/inclusion?collection=c&sequence=1')],
      ['GET /v1/proof/consistency', () => reader.get('/v1/proof/consistency?collection=c&from=1&to=2')],
      ['GET /v1/proof/checkpoint', () => reader.get('/v1/proof/checkpoint?collection=c')],
      ['GET /v1/export', () => reader.get('/v1/export?collection=c')],
      ['GET /v1/export/log', () => reader.get('/v1/export/log?collection=c')],
    ];
    for (const [kind, asked] of reads) {
      const { status, text } = await asked();
      expect(status, `${kind}: ${text}`).to.equal(200);
    }
    await project.rw.post('/v1/records', { collection: 'c', values: [4, 0] });
    expect(await kinds()).to.deep.equal(reads.map(([kind]) => `${kind} 200`));
  });

  it('says who asked, what was found, and in which state', async () => {
    const headers = { 'vouch-on-behalf-of': 'u-17', 'x-request-id': 'r-1' };
    const { results } = (await reader.post('/v1/search', { collection: 'c', query: [1, 0], k: 2 }, headers)).body;
    const [entry] = (await page()).entries;
    const { final_state_hash, sequence } = (await reader.get('/v1/proof/state?collection=c')).body;
    expect(entry).to.deep.include({
      ...{ entry: 1, kind: 'POST /v1/search', status: 200, sequence, state_hash: final_state_hash, records: 2 },
      actor: { key_id: keyId, on_behalf_of: 'u-17', request_id: 'r-1' },
      ids: results.map(({ id }: { id: number }) => id),
      scores: results.map(({ score }: { score: number }) => score),
    });
    expect(entry).to.not.have.any.keys('request', 'body', 'since');
    expect(entry?.request_hash).to.match(/^[0-9a-f]{64}$/);
    expect(entry?.answer_hash).to.match(/^[0-9a-f]{64}$/);
  });

  it('names the past state that a search of the past has answered from', async () => {
    const past = { collection: 'c', query: [1, 0], k: 2, as_of_log_index: 2 };
    const { body, status, text } = await reader.post('/v1/search', past);
    expect(status, text).to.equal(200);
    const [entry] = (await page()).entries;
    expect(entry).to.deep.include({ sequence: 2, state_hash: body.as_of_state_hash });
  });

  it('has the requests where audit_reads is full', async () => {
    expect((await audit('full')).body.audit_reads).to.equal('full');
    await reader.post('/v1/search', { collection: 'c', query: [1, 0], k: 1 });
    await reader.get('/v1/records/1?collection=c&with=text');
    const [search, get] = (await page()).entries;
    expect(search).to.deep.include({ request: 'POST /v1/search', body: '{"collection":"c","query":[1,0],"k":1}' });
    expect(get?.request).to.equal('GET /v1/records/1?collection=c&with=text');
    expect(get).not.to.have.property('body');
  });

  it('has an entry for a write that shows records without an event', async () => {
    const { rw } = project;
    expect((await audit('full')).status).to.equal(200);
    const guarded = { collection: 'c', metadata_filter: { k: { $exists: true } }, if_log_index: 0 };
    const none = { collection: 'c', metadata_filter: { k: 'no such value' } };
    const answers = [
      await rw.post('/v1/records/delete', guarded),
      await rw.post('/v1/records/delete', none),
      await rw.post('/v1/records/metadata', { ...none, merge: { x: 1 } }),
      await rw.post('/v1/delete', { collection: 'c', id: 99 }),
      await rw.patch('/v1/records/99/metadata?collection=c', { x: 1 }),
      await rw.post('/v1/graph/node', { collection: 'c', kind: 0, record_id: 99 }),
      await rw.post('/v1/graph/edge', { collection: 'c', kind: 0, from: 1, to: 99 }),
      await rw.delete('/v1/graph/node/99?collection=c'),
      await rw.delete('/v1/graph/edge/99?collection=c'),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([409, 200, 200, 404, 404, 404, 404, 404, 404]);
    await rw.post('/v1/delete', { collection: 'c', id: 2 });
    expect(await kinds()).to.deep.equal([
      'POST /v1/records/delete 409',
      'POST /v1/records/delete 200',
      'POST /v1/records/metadata 200',
      'POST /v1/delete 404',
      'PATCH /v1/records/{id}/metadata 404',
      'POST /v1/graph/node 404',
      'POST /v1/graph/edge 404',
      'DELETE /v1/graph/node/{id} 404',
      'DELETE /v1/graph/edge/{id} 404',
    ]);
    expect((await page()).entries[0]?.body).to.equal(JSON.stringify(guarded));
  });

  it('has an entry for a repeated request that changes nothing', async () => {
    const headers = { 'idempotency-key': 'e'.repeat(32) };
    const upsert = { collection: 'c', batch: [[5, 0]], external_ids: ['e'] };
    const deletion = { collection: 'c', metadata_filter: { k: 1 } };
    for (const [path, body] of [
      ['/v1/vectors/batch-upsert', upsert],
      ['/v1/records/delete', deletion],
    ] as const) {
      const answers = [await project.rw.post(path, body, headers), await project.rw.post(path, body, headers)];
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
      headers['idempotency-key'] = 'f'.repeat(32);
    }
    expect(await kinds()).to.deep.equal(['POST /v1/vectors/batch-upsert 200', 'POST /v1/records/delete 200']);
  });

  it('is in pages, and filtered by actor and time', async () => {
    for (const person of ['a', 'b', 'a', 'b', 'a'])
      await reader.get('/v1/records/count?collection=c', { 'vouch-on-behalf-of': person });
    const numbers = ({ entries }: { entries: Entry[] }) => entries.map(({ entry }) => entry);
    const first = await page('&actor=a&limit=2');
    expect([numbers(first), first.next, first.size]).to.deep.equal([[1, 3], 4, 5]);
    const second = await page(`&actor=a&limit=2&after=${first.next}`);
    expect([numbers(second), second.next]).to.deep.equal([[5], undefined]);
    expect(numbers(await page(`&actor=${keyId}&after=3`))).to.deep.equal([4, 5]);
    expect(numbers(await page('&from=2020-01-01T00:00:00Z'))).to.deep.equal([1, 2, 3, 4, 5]);
    expect(numbers(await page('&to=2020-01-01T00:00:00Z'))).to.deep.equal([]);
    expect(numbers(await page('&from=2100-01-01T00:00:00Z'))).to.deep.equal([]);
  });

  it('has many reads at once, each once', async () => {
    await Promise.all(
      Array.from({ length: 64 }, (_, i) =>
        reader.post('/v1/search', { collection: 'c', query: [i, 0], k: 1 }, { 'x-request-id': `r-${i}` }),
      ),
    );
    const { entries, size } = await page('&limit=1000');
    expect(size).to.equal(64);
    const asked = new Set(entries.map(({ actor }) => (actor as { request_id: string }).request_id));
    expect(asked.size).to.equal(64);
  });

  it('begins and ends with events of the collection', async () => {
    await create('d');
    await reader.get('/v1/records/count?collection=d');
    expect((await audit(true, 'd')).status).to.equal(200);
    await reader.get('/v1/records/count?collection=d');
    expect((await audit(false, 'd')).body).not.to.have.property('audit_reads');
    await reader.get('/v1/records/count?collection=d');
    expect((await page('', 'd')).entries).to.have.length(1);
    const { events } = (await reader.get('/v1/timeline?collection=d')).body;
    const receipt = await reader.get('/v1/proof/receipt?collection=d&sequence=1');
    expect(receipt.body.error).to.contain('event 1 is a change of audit_reads and changed no record');
    const adminId = (await project.admin.get('/v1/keys/self')).body.id;
    expect(
      events.map(({ event_type, actor }: { event_type: string; actor: { key_id: string } }) => [
        event_type,
        actor.key_id,
      ]),
    ).to.deep.equal([
      ['audit_reads', adminId],
      ['audit_reads', adminId],
    ]);
  });

  it('is switched and erased by keys of scope admin only', async () => {
    expect((await audit(false, 'c', project.rw)).status).to.equal(403);
    expect((await project.rw.get('/v1/access?collection=c')).status).to.equal(403);
    expect((await project.rw.delete('/v1/namespaces/c')).status).to.equal(403);
    expect((await create('c', { audit_reads: false })).status).to.equal(409);
    expect((await create('c')).status).to.equal(200);
    expect((await audit('yes')).status).to.equal(400);
    expect((await reader.get('/v1/namespaces/c')).body.audit_reads).to.equal(true);
    expect((await project.admin.delete('/v1/namespaces/c')).status).to.equal(204);
    expect((await create('c', { audit_reads: true })).status).to.equal(200);
    expect((await page()).size).to.equal(0);
  });

  it('keeps its entries from other keys after it was switched off', async () => {
    expect((await create('off', { audit_reads: true })).status).to.equal(200);
    await reader.get('/v1/records/count?collection=off');
    expect((await audit(false, 'off')).status).to.equal(200);
    const refused = await project.rw.delete('/v1/namespaces/off');
    expect([refused.status, refused.body.error]).to.deep.equal([
      403,
      'the reads of collection "off" are or were audited: only a key of scope admin deletes it with its access log; yours is read_write',
    ]);
    expect((await page('', 'off')).entries).to.have.length(1);
    expect((await create('off')).body.created).to.equal(false);
    expect((await project.admin.delete('/v1/namespaces/off')).status).to.equal(204);
    expect((await create('off')).body.created).to.equal(true);
    expect((await project.rw.delete('/v1/namespaces/off')).status).to.equal(204);
  });

  it('is empty in an import, whose reads are audited as in its source', async () => {
    await reader.get('/v1/records/count?collection=c');
    const copy = await service.newProject();
    await imported(copy.admin, await exported(project.admin, 'c'), 'c');
    expect((await copy.ro.get('/v1/records/count?collection=c')).status).to.equal(200);
    const { entries } = (await copy.admin.get('/v1/access?collection=c')).body;
    expect(entries).to.have.length(1);
    expect((await copy.ro.get('/v1/namespaces/c')).body.audit_reads).to.equal(true);
  });

  it(atLength('is checked by npm run verify, which refuses another head and every changed byte'), async () => {
    for (let i = 0; i < 5; i++) await reader.get('/v1/records/count?collection=c');
    const head = await page('&limit=1');
    await reader.get('/v1/records/count?collection=c');
    const { bytes } = await project.admin.get('/v1/access/log?collection=c');
    await withFolder(async (folder) => {
      const [copy, checkpoint, wrong] = ['copy', 'head.json', 'wrong.json'].map((name) => join(folder, name));
      await writeFile(copy!, bytes);
      await writeFile(checkpoint!, JSON.stringify(head));
      await writeFile(wrong!, JSON.stringify({ ...head, root: head.chain_head }));
      const checked = await verify(['access', copy!, '--checkpoint', checkpoint!]);
      expect(checked.text)
        .to.match(/6 entries/)
        .and.match(/5 entries: of this log/);
      expect(checked.code).to.equal(0);
      expect((await verify(['access', copy!, '--checkpoint', wrong!])).code).to.equal(1);
      const mistaken = await verify(['access', checkpoint!]);
      expect(mistaken.code).to.equal(2);
      expect(mistaken.text).to.match(/is the head of an access log, not a copy of an access log: .*--checkpoint/);
      for (const unused of [
        [copy!, '--collection', 'other'],
        [copy!, '--project', 'other'],
        [service.dataDir, '--checkpoint', checkpoint!],
      ]) {
        const { code, text } = await verify(['access', ...unused]);
        expect([code, text]).to.deep.equal([2, text.match(/^✘ verify +.*(--collection|--project).*\n$/)?.[0]]);
      }
      for (const at of [4, 40, 70, bytes.length - 1])
        expect(
          (await verify(['access', '-'], Buffer.from(bytes.with(at, bytes[at]! ^ 1)))).code,
          `byte ${at}`,
        ).to.equal(1);
      expect((await verify(['access', '-'], Buffer.from(bytes.subarray(0, bytes.length - 2)))).code).to.equal(1);
      if (service.mode === 'cluster') return;
      const stored = ['access', service.dataDir, '--collection', 'c', '--project', project.name];
      const { code, text } = await verify([...stored, '--checkpoint', checkpoint!]);
      expect(code, text).to.equal(0);
    });
  });

  it(atLength('is listed by npm run verify only if it has entries, or should have some'), async () => {
    expect((await verify(['access', '-'], Buffer.alloc(0))).text).to.match(/^! access log +-: no entries: /);
    await project.rw.post('/v1/namespaces', { name: 'plain', dimension: 1, metric: 'squared_l2' });
    if (service.mode === 'cluster') return;
    const stored = ['access', service.dataDir, '--project', project.name];
    const unread = await verify(stored);
    expect(unread.text)
      .to.match(/^! access log +\S+\/c, id \d+: no entries: /)
      .and.not.to.contain('plain');
    await reader.get('/v1/records/count?collection=c');
    const { code, text } = await verify(stored);
    expect([unread.code, code]).to.deep.equal([0, 0]);
    expect(text)
      .to.match(/^✔ access log +\S+\/c, id \d+: 1 entry$/m)
      .and.not.to.contain('plain');
    const plain = await verify([...stored, '--collection', 'plain']);
    expect(plain.text).to.match(/^! no access log +\S+\/plain, id \d+: its reads are not audited\n$/);
  });

  it(atLength('is copied by npm run export, which overwrites no file and copies no empty log'), async () => {
    await withFolder(async (folder) => {
      const file = join(folder, 'copy');
      const take = (client: Client) => runAccessExport(service.url, client, 'c', file).waitForEnd(60_000);
      expect((await take(project.admin)).code).to.equal(1);
      for (let i = 0; i < 3; i++) await reader.get('/v1/records/count?collection=c');
      const refused = await take(project.rw);
      expect(refused.code).to.equal(1);
      expect(await readdir(folder)).to.deep.equal([]);
      await succeeded(runAccessExport(service.url, project.admin, 'c', file));
      const { bytes } = await project.admin.get('/v1/access/log?collection=c');
      expect(Buffer.compare(await readFile(file), bytes)).to.equal(0);
      // The refused copy is an entry too.
      expect((await verify(['access', file])).text).to.match(/4 entries/);
      expect((await take(project.admin)).code).to.equal(1);
    });
  });

  it('is named in the service log, and npm run verify checks the proof', async () => {
    const state = () => project.admin.get('/v1/access/checkpoint?collection=c');
    expect((await state()).status).to.equal(409);
    for (const size of [1, 2]) {
      await reader.get('/v1/records/count?collection=c');
      const { status, body, text } = await state();
      expect(status, text).to.equal(200);
      expect(body.size).to.equal(size);
      const { root, chain_head } = await page();
      expect([body.root, body.chain_head]).to.deep.equal([root, chain_head]);
      await withFolder(async (folder) => {
        const saved = async (name: string, content: string | Uint8Array): Promise<string> => {
          await writeFile(join(folder, name), content);
          return join(folder, name);
        };
        const copy = await saved('copy', (await project.admin.get('/v1/access/log?collection=c')).bytes);
        const policy = await saved('policy', `log ${await service.logKey()}\nquorum none\n`);
        const claims = ['--policy', policy, '--checkpoint'];
        const good = await verify(['access', copy, ...claims, await saved('good', text)]);
        expect(good.code, good.text).to.equal(0);
        expect(good.text).to.match(/service log/);
        const wrong = { ...body, root: body.chain_head, chain_head: body.root };
        const bad = await verify(['access', copy, ...claims, await saved('bad', JSON.stringify(wrong))]);
        expect(bad.code, bad.text).not.to.equal(0);
      });
    }
  });

  it('hashes to the chain and the root that a page states', async () => {
    for (let i = 0; i < 5; i++) await reader.get('/v1/records/count?collection=c');
    const { size, root, chain_head } = await page();
    const { bytes } = await project.admin.get('/v1/access/log?collection=c');
    let at = 0;
    let last: ReturnType<typeof decodeAccessFrame> | undefined;
    while (at < bytes.length) {
      const length = new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0, true);
      last = decodeAccessFrame(bytes.subarray(at + 4, at + 4 + length));
      at += 4 + length;
    }
    const tree = afterAccessFrame(last!);
    expect([tree.size, toHex(tree.root()), toHex(tree.chainHead)]).to.deep.equal([size, root, chain_head]);
  });
});
