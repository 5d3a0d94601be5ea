// Covers: scripts/mcp.ts, scripts/mcp/
/** `npm run mcp`, tested with a client of the Model Context Protocol and real processes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { guarded } from '../../scripts/local/supervisor/guarded.js';
import { freePort } from '../support/launch/freePort.js';
import { Mcp } from '../support/launch/mcp.js';
import { sharedService } from '../support/launch/modes.js';
import { launchNode } from '../support/launch/process.js';
import type { Project } from '../support/launch/service.js';
import { ROOT } from '../support/sourceTree.js';

const COMMAND = join(ROOT, 'dist/scripts/mcp.js');
const READS = [
  ...['list_collections', 'search', 'search_text', 'get_records', 'read_field', 'list_records', 'count_records'],
  ...['facets', 'history', 'verify', 'access_log'],
];
const WRITES = ['insert_record', 'insert_records', 'upsert_records', 'update_metadata', 'delete_record', 'erase_keys'];

/** A proxy that changes answers. */
async function startProxy(url: string, alter: (path: string, body: string) => string): Promise<Server> {
  const server = createServer(async (request, response) => {
    const { authorization = '' } = request.headers;
    const answer = await fetch(url + request.url, { headers: { authorization } });
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(alter(request.url ?? '', await answer.text()));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

const withoutNull = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, item: unknown) => (item === null ? undefined : item)));

describe('npm run mcp', () => {
  const service = sharedService('standalone');
  let project: Project;
  const open: (() => Promise<unknown>)[] = [];
  beforeEach(async () => {
    project = await service.newProject();
    await project.rw.post('/v1/namespaces', { name: 'birds', dimension: 2, metric: 'squared_l2' });
    const inserted = await project.rw.post('/v1/vectors/batch-insert', {
      collection: 'birds',
      batch: [
        [0, 0],
        [1, 0],
        [0, 3],
      ],
      metadata: [{ land: 'de' }, { land: 'fr' }, { land: 'de' }],
      texts: ['an owl', 'a wren', null],
    });
    expect(inserted.body).to.deep.equal({ ids: [1, 2, 3] });
  });
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
  });

  const start = async (
    args: readonly string[] = [],
    { url = service.url, key = project.rw.key! } = {},
  ): Promise<Mcp> => {
    const mcp = await Mcp.start(process.execPath, [COMMAND, '--url', url, ...args], key);
    open.push(() => mcp.client.close());
    return mcp;
  };
  const through = async (alter: (path: string, body: string) => string): Promise<string> => {
    const proxy = await startProxy(service.url, alter);
    open.push(async () => {
      proxy.closeAllConnections();
      await new Promise((closed) => proxy.close(closed));
    });
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  };
  /** Answer of the API. */
  const api = async (path: string): Promise<unknown> => (await project.rw.get(path)).body;
  const signer = async (): Promise<string> =>
    ((await api('/v1/proof/checkpoint?collection=birds')) as { public_key: string }).public_key;

  it('is started by npm, introduces itself, and lists tools that need only their schemas', async () => {
    const args = ['run', 'mcp', '--silent', '--', '--url', service.url];
    const mcp = await Mcp.start('npm', args, project.ro.key!);
    open.push(() => mcp.client.close());
    expect(mcp.client.getServerVersion()?.name).to.equal('vouch');
    expect(mcp.client.getInstructions()).to.include('list_collections');
    const { tools } = await mcp.client.listTools();
    expect(tools.map(({ name }) => name)).to.deep.equal(READS);
    for (const { name, description, inputSchema, annotations } of tools) {
      expect(description, name).to.match(/^[A-Z].{40,}\.$/s);
      expect(inputSchema.type, name).to.equal('object');
      expect(annotations?.readOnlyHint, name).to.equal(true);
    }
    const search = tools.find(({ name }) => name === 'search')!.inputSchema.properties as Record<string, object>;
    expect(search.k).to.deep.equal({
      type: 'integer',
      minimum: 1,
      maximum: 100,
      description: 'The number of hits, up to 100. Default: 10.',
    });
    expect(await mcp.call('count_records', { collection: 'birds' })).to.deep.include({ json: { count: 3 } });
  });

  it('answers like the API, without null fields', async () => {
    const mcp = await start();
    const answers = async (name: string, given: Record<string, unknown>, path: string): Promise<void> => {
      expect((await mcp.call(name, given)).json, name).to.deep.equal(withoutNull(await api(path)));
    };
    const filter = `metadata_filter=${encodeURIComponent('{"land":"de"}')}`;
    const metadata_filter = { land: 'de' };
    const collection = 'birds';
    await answers('list_records', { collection, limit: 2, with: [] }, '/v1/records?collection=birds&limit=2');
    await answers('list_records', { collection, metadata_filter }, `/v1/records?collection=birds&${filter}&with=text`);
    await answers('count_records', { collection, metadata_filter }, `/v1/records/count?collection=birds&${filter}`);
    await answers('facets', { collection, key: 'land' }, '/v1/facets?collection=birds&key=land');
    await answers('history', { collection, after: 1, limit: 1 }, '/v1/timeline?collection=birds&after=1&limit=1');
    const { collections } = (await api('/v1/namespaces')) as { collections: unknown[] };
    expect((await mcp.call('list_collections')).json).to.deep.equal({ collections, total: 1 });
    await project.rw.put('/v1/aliases/fowl', { collection: 'birds' });
    const { json: named } = await mcp.call('list_collections', { name_contains: 'fow' });
    expect(named.collections[0].aliases).to.deep.equal(['fowl']);
    expect((await mcp.call('list_collections', { name_contains: 'fish' })).json).to.deep.equal({
      collections: [],
      total: 0,
    });
    const got = await project.rw.post('/v1/records/get', { collection, ids: [3, 9, 1], with: ['text', 'vector'] });
    expect(
      (await mcp.call('get_records', { collection, ids: [3, 9, 1], with: ['text', 'vector'] })).json,
    ).to.deep.equal(withoutNull(got.body));
  });

  it('searches by a vector and by a record; hits carry metadata and text', async () => {
    const mcp = await start();
    const near = await mcp.call('search', {
      collection: 'birds',
      query: [0.5, 0],
      k: 2,
      metadata_filter: { land: 'fr' },
    });
    expect(near.json.results).to.deep.equal([{ id: 2, score: 0.25, metadata: { land: 'fr' }, text: 'a wren' }]);
    const alike = await mcp.call('search', { collection: 'birds', like: 1, with: [] });
    expect(alike.json.results).to.deep.equal([
      { id: 2, score: 1 },
      { id: 3, score: 9 },
    ]);
    const past = await mcp.call('search', { collection: 'birds', like: 1, as_of_log_index: 2, with: ['vector'] });
    expect(past.json).to.deep.include({ as_of_log_index: 2, results: [{ id: 2, score: 1, vector: [1, 0] }] });
  });

  it('adds receipts and proofs to the history', async () => {
    const mcp = await start();
    const { json } = await mcp.call('history', { collection: 'birds', limit: 2, proofs: true });
    expect(json.total).to.equal(3);
    for (const [i, event] of json.events.entries()) {
      const at = `collection=birds&sequence=${i + 1}`;
      expect([event.log_index, event.event_type]).to.deep.equal([i + 1, 'insert']);
      expect(event.receipt).to.deep.equal(await api(`/v1/proof/receipt?${at}`));
      expect(event.inclusion).to.deep.equal(await api(`/v1/proof/inclusion?${at}`));
    }
  });

  it("verifies an event up to the signature, under the user's key", async () => {
    const mcp = await start(['--signer', await signer()]);
    const verified = await mcp.call('verify', {
      collection: 'birds',
      sequence: 2,
      record: { vector: [1, 0], metadata: { land: 'fr' }, text: 'a wren' },
    });
    expect(verified.json.verdict, verified.text).to.equal('holds');
    expect(verified.json.checks.map(({ check, result }: Record<string, string>) => `${check} ${result}`)).to.deep.equal(
      [...['checkpoint holds', 'inclusion holds', 'receipt holds']],
    );
    expect(verified.json.checks[2].says).to.equal(
      'is of this event: insert of record 2, which wrote exactly these values',
    );
    const other = await mcp.call('verify', { collection: 'birds', sequence: 2, record: { vector: [1, 1] } });
    expect(other.json.verdict).to.equal('refused');
    expect(other.json.checks[2].says).to.equal('it is not about this record');
    const later = await mcp.call('verify', { collection: 'birds', sequence: 4 });
    expect(later.json).to.include({ error: 'the signed log of 4 events has no event 4', code: 'validation_error' });
    const unknown = await (await start()).call('verify', { collection: 'birds', sequence: 2 });
    expect(unknown.json.verdict).to.equal('unknownSigner');
    const stranger = await (
      await start(['--signer', 'd0baa82b8d39c9f618af53cbfb69276f90bcd4119e94dfe0aeff76676c2bef04'])
    ).call('verify', { collection: 'birds', sequence: 2 });
    expect(stranger.json).to.deep.include({ verdict: 'refused' });
    expect(stranger.json.checks[0].says).to.match(/^it is signed with another key, [0-9a-f]{64}$/);
  });

  it('detects an altered receipt, proof or checkpoint, and a log of another collection', async () => {
    const flip = (body: string, field: string): string =>
      body.replace(new RegExp(`("${field}":")(.)`), (_, before, letter) => `${before}${letter === 'a' ? 'b' : 'a'}`);
    const alterations: readonly [endpoint: string, alter: (body: string) => string, fails: string, says: RegExp][] = [
      ['receipt', (body) => flip(body, 'state_hash'), 'receipt', /state_hash does not follow/],
      ['receipt', (body) => body.replace('"record_id":2', '"record_id":1'), 'receipt', /record_id is not the one/],
      ['inclusion', (body) => flip(body, 'root'), 'inclusion', /does not lead to the root/],
      ['inclusion', (body) => body.replace('"sequence":2', '"sequence":1'), 'inclusion', /does not lead|is of event 1/],
      ['checkpoint', (body) => flip(body, 'signature'), 'checkpoint', /the signature is not of this text/],
      ['checkpoint', (body) => body.replace('/birds/', '/words/'), 'checkpoint', /the signature is not of this text/],
    ];
    let now = alterations[0]!;
    const url = await through((path, body) => (path.startsWith(`/v1/proof/${now[0]}`) ? now[1](body) : body));
    const mcp = await start(['--signer', await signer()], { url });
    for (now of alterations) {
      const { json } = await mcp.call('verify', { collection: 'birds', sequence: 2 });
      expect(json.verdict).to.equal('refused');
      expect(json.checks.at(-1)).to.include({ check: now[2], result: 'fails' });
      expect(json.checks.at(-1).says).to.match(now[3]);
    }
    const { body: kept } = await project.rw.get('/v1/proof/receipt?collection=birds&sequence=2');
    await project.rw.post('/v1/namespaces', { name: 'words', dimension: 2, metric: 'squared_l2' });
    await project.rw.post('/v1/vectors/batch-insert', {
      collection: 'words',
      batch: [
        [0, 0],
        [1, 0],
      ],
    });
    const direct = await start();
    const elsewhere = await direct.call('verify', { collection: 'words', receipt: kept });
    expect(elsewhere.json.verdict).to.equal('refused');
    expect(elsewhere.json.checks.at(-1).says).to.equal('it is of another event');
    const forged = await direct.call('verify', { collection: 'birds', receipt: { ...kept, sequence: 1 } });
    expect(forged.json.checks).to.deep.equal([
      { check: 'receipt alone', result: 'fails', says: 'sequence is not the one of the proof' },
    ]);
  });

  it('has writing tools only with an option', async () => {
    const mcp = await start();
    expect(await mcp.tools()).to.deep.equal(READS);
    const refusal = await mcp
      .call('insert_record', { collection: 'birds', vector: [7, 7] })
      .catch((error: Error) => error);
    expect(refusal instanceof Error ? refusal.message : refusal.text).to.include('insert_record');
    expect((await api('/v1/records/count?collection=birds')) as object).to.deep.equal({ count: 3 });
  });

  it('inserts with a verified receipt, and deletes, with --write', async () => {
    const mcp = await start(['--write', '--signer', await signer()]);
    expect(await mcp.tools()).to.deep.equal([...READS, ...WRITES]);
    const collection = 'birds';
    const record = {
      vector: [7, 0.5],
      text: 'a heron',
      metadata: { land: 'nl', seen: [1, 2] },
      request_id: '0f'.repeat(16),
    };
    const inserted = await mcp.call('insert_record', { collection, ...record });
    expect(inserted.json).to.deep.include({ id: 4, deduplicated: false });
    expect((await mcp.call('insert_record', { collection, ...record })).json).to.deep.include({
      id: 4,
      deduplicated: true,
    });
    const verified = await mcp.call('verify', { collection, receipt: inserted.json.receipt, record });
    expect(verified.json.verdict, verified.text).to.equal('holds');
    const { request_id: _, ...withoutId } = record;
    for (const at of [{ sequence: 4 }, { receipt: inserted.json.receipt }])
      expect((await mcp.call('verify', { collection, ...at, record: withoutId })).json.verdict).to.equal('holds');
    const found = await mcp.call('search', { collection, query: [7, 0.5], k: 1 });
    expect(found.json.results).to.deep.equal([{ id: 4, score: 0, metadata: record.metadata, text: 'a heron' }]);
    const records = [{ vector: [8, 8] }, { vector: [9, 9], text: 'a crane', metadata: { land: 'se' } }];
    expect((await mcp.call('insert_records', { collection, records })).json).to.deep.equal({ ids: [5, 6] });
    expect((await mcp.call('delete_record', { collection, id: 4 })).json.deleted).to.equal(1);
    const owl = { external_id: 'owl', vector: [7, 7], text: 'an owl' };
    const upsert = (record: object) => mcp.call('upsert_records', { collection, records: [record] });
    expect((await upsert(owl)).json).to.deep.equal({ ids: [7], created: 1, replaced: 0 });
    expect((await upsert({ ...owl, text: 'the owl' })).json).to.deep.equal({ ids: [7], created: 0, replaced: 1 });
    for (const [sequence, text] of [
      [8, 'an owl'],
      [9, 'the owl'],
    ] as const)
      expect((await mcp.call('verify', { collection, sequence, record: { ...owl, text } })).json.verdict).to.equal(
        'holds',
      );
    const another = await mcp.call('verify', { collection, sequence: 9, record: { ...owl, external_id: 'jay' } });
    expect(another.json.verdict).to.equal('refused');
    const got = await mcp.call('get_records', { collection, external_ids: ['owl', 'none'] });
    expect(got.json).to.deep.equal({
      records: [{ id: 7, external_id: 'owl', tag: 0, text: 'the owl' }],
      missing: ['none'],
    });
    expect((await mcp.call('get_records', { collection })).json.code).to.equal('validation_error');
    expect((await mcp.call('get_records', { collection, ids: [4, 5, 6] })).json).to.deep.equal({
      records: [
        { id: 5, tag: 0 },
        { id: 6, tag: 0, metadata: { land: 'se' }, text: 'a crane' },
      ],
      missing: [4],
    });
    const [last] = (await mcp.call('history', { collection, after: 6 })).json.events;
    expect(last).to.include({ log_index: 7, event_type: 'delete', record_id: 4 });
    const deletion = await mcp.call('verify', { collection, sequence: 7, record: { deleted: true } });
    expect(deletion.json.verdict, deletion.text).to.equal('holds');
    expect(deletion.json.checks.at(-1).says).to.include('delete of record 4');
    const byName = { collection, external_id: 'owl' };
    expect((await mcp.call('delete_record', byName)).json).to.deep.include({ deleted: 1, missing: [] });
    expect((await mcp.call('delete_record', { ...byName, id: 7 })).json.code).to.equal('validation_error');
  });

  it('answers errors of the service, and wrong arguments, as errors of the tool', async () => {
    const mcp = await start();
    const missing = await mcp.call('search', { collection: 'fish', query: [1, 2] });
    expect(missing.isError).to.equal(true);
    expect(missing.json.code).to.equal('collection_not_found');
    const long = await mcp.call('search', { collection: 'birds', query: [1, 2, 3] });
    expect([long.isError, long.json.code]).to.deep.equal([true, 'dimension_mismatch']);
    const both = await mcp.call('search', { collection: 'birds', query: [1, 2], like: 1 });
    expect(both.json).to.include({ error: 'give one of query, like and like_external_id', code: 'validation_error' });
    const incomplete = await mcp.call('verify', { collection: 'birds', sequence: 1, record: { text: 'an owl' } });
    expect([incomplete.isError, incomplete.text]).to.satisfy(
      ([isError, said]: [boolean, string]) => isError && /give vector/.test(said),
    );
    for (const given of [{ k: 101 }, { K: 1 }]) {
      const refused = await mcp.call('search', { collection: 'birds', like: 1, ...given });
      expect(refused.isError, refused.text).to.equal(true);
      expect(refused.text).to.match(/\bk\b/i);
    }
    expect((await mcp.call('count_records', { collection: 'birds' })).json).to.deep.equal({ count: 3 });
    const reader = await start(['--write'], { key: project.ro.key! });
    expect((await reader.call('delete_record', { collection: 'birds', id: 1 })).json.code).to.equal('forbidden');
  });

  it('waits for a rate limit that ends soon, and reports another', async () => {
    let refused = 0;
    const limited = createServer((request, response) => {
      const isLong = request.url!.startsWith('/v1/facets');
      if (isLong || refused === 0) {
        refused += 1;
        response.writeHead(429, { 'retry-after': isLong ? '60' : '1' }).end('{"error":"too many requests"}');
      } else response.end('{"count":3}');
    });
    await once(limited.listen(0, '127.0.0.1'), 'listening');
    open.push(async () => {
      limited.closeAllConnections();
      await new Promise((closed) => limited.close(closed));
    });
    const mcp = await start([], { url: `http://127.0.0.1:${(limited.address() as AddressInfo).port}` });
    expect((await mcp.call('count_records', {})).json).to.deep.equal({ count: 3 });
    expect(refused).to.equal(1);
    const answer = await mcp.call('facets', { key: 'land' });
    expect(answer.isError).to.equal(true);
    expect(answer.json).to.deep.include({ error: 'too many requests', code: 'rate_limited' });
    expect(answer.json.next).to.include('Wait');
    expect(refused).to.equal(2);
  });

  it('reports a wrong key and an unreachable service at the first call, and shows no key', async () => {
    const wrong = await start([], { key: 'vouch_nobody_has_this_key' });
    const refused = await wrong.call('list_collections');
    expect([refused.isError, refused.json.code]).to.deep.equal([true, 'unauthorized']);
    const away = `http://127.0.0.1:${await freePort()}`;
    const lost = await start([], { url: away });
    const unreachable = await lost.call('list_collections');
    expect([unreachable.isError, unreachable.json.code]).to.deep.equal([true, 'unavailable']);
    expect(unreachable.json.error).to.match(/^http:\S+ is out of reach: /);
    for (const shown of [refused.text, unreachable.text, wrong.errors, lost.errors])
      expect(shown).to.not.include('nobody_has').and.not.include(project.rw.key!);
  });

  it('ends with one line without a service or a usable key', async () => {
    const env = { VOUCH_KEY: undefined, INIT_CWD: undefined, VOUCH_DATA_DIR: join(service.dataDir, 'none') };
    const cases: readonly [args: string[], line: RegExp][] = [
      [['--url', service.url], /^✘ mcp +http:\S+ needs an API key: give it as --key, or in VOUCH_KEY$/m],
      [[], /^✘ mcp +nothing runs on the data folder \S+; give the service's address as --url$/m],
      [['--url', service.url, '--key', 'a\nb'], /^✘ mcp +the API key has invalid characters$/m],
      [['--signer', 'ab'], /^✘ mcp +--signer takes 64 lowercase hex digits; npm run mcp -- --help shows the usage$/m],
    ];
    for (const [args, line] of cases) {
      const command = launchNode(COMMAND, args, { env });
      expect((await command.waitForEnd()).code).to.be.oneOf([1, 2]);
      expect(command.output).to.match(line);
    }
  });

  it('writes only the protocol to standard output, and ends with its client', async () => {
    const child = guarded(spawn(process.execPath, [COMMAND, '--url', service.url, '--key', project.ro.key!]));
    const output = text(child.stdout);
    const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const answered = once(child.stdout, 'data');
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize })}\n`);
    await answered;
    child.stdin.end();
    const [code] = await once(child, 'exit');
    expect(code).to.equal(0);
    const lines = (await output).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).id)).to.deep.equal([1]);
  });
});
