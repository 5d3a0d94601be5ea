// Covers: coordinator/handlers/serviceLog.ts, coordinator/serviceLog/published.ts, coordinator/serviceLog/serviceLog.ts
// Covers: verifier/tlog/logged.ts
/** The service log over HTTP, as tools for transparency logs read it, and the proofs that end in it. */
import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import {
  verifyLogged as clientVerifyLogged,
  HistoryRewrittenError,
  memoryStore,
  ProofError,
  Vouch,
} from '../../client/index.js';
import { signerOf } from '../../shared/signing/signer.js';
import {
  EMPTY_ROOT,
  entriesIn,
  Frontier,
  formatVerifierKey,
  isConsistent,
  type LogEntry,
  leafHash,
  type Policy,
  parseEntry,
  parseNote,
  parsePolicy,
  parseTreeHead,
  TILE_WIDTH,
  TileTree,
  type TreeHead,
  tilePath,
  tileWidth,
  toBase64,
  toHex,
  verifierKey,
  verifyLogged,
} from '../../verifier/index.js';
import { rejection } from '../support/expectations.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Project, Service } from '../support/launch/service.js';

const generatedKey = (): Uint8Array => signerOf(generateKeyPairSync('ed25519').privateKey).publicKey;

const settings = { VOUCH_LOG_EVERY_MS: '200', VOUCH_LOG_ORIGIN: 'vouch.example/log' };

const about = (id: number, entries: readonly LogEntry[]): LogEntry[] =>
  entries.filter((entry) => entry.type !== 'census' && entry.collectionId === id);

inBothModes('the service log', (_, { start }) => {
  let service: Service;
  let project: Project;
  before(async () => {
    service = await start(settings);
    project = await service.newProject();
  });

  const read = async (path: string): Promise<Uint8Array> => {
    const response = await fetch(`${service.url}/log/${path}`);
    expect(response.status, path).to.equal(200);
    return new Uint8Array(await response.arrayBuffer());
  };
  const checkpoint = async (): Promise<TreeHead> => {
    const response = await fetch(`${service.url}/log/checkpoint`);
    expect(response.headers.get('content-type')).to.equal('text/plain; charset=utf-8');
    expect(response.headers.get('cache-control')).to.equal('no-cache');
    return parseTreeHead(parseNote(await response.text()).text);
  };
  async function entriesOf({ size, root }: TreeHead): Promise<LogEntry[]> {
    const entries: Uint8Array[] = [];
    for (let index = 0; index * TILE_WIDTH < size; index++)
      entries.push(
        ...entriesIn(await read(tilePath({ level: 'entries', index, width: tileWidth(size, 'entries', index) }))),
      );
    const frontier = new Frontier();
    for (const entry of entries) frontier.append(leafHash(entry));
    expect(toHex(frontier.root())).to.equal(toHex(root));
    return entries.map(parseEntry);
  }
  const insert = async (collection: string): Promise<void> => {
    const { status, text } = await project.rw.post('/v1/records', { collection, values: [1, 2] });
    expect(status, text).to.equal(200);
  };
  const create = async (name: string): Promise<number> =>
    (await project.rw.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2' })).body.id;
  const logged = (collection: string) => project.ro.get(`/v1/proof/checkpoint?collection=${collection}&logged=true`);
  const policyOf = async (): Promise<Policy> => parsePolicy(`log ${await service.logKey()}\nquorum none\n`);

  it('lists changes without a request, and continues what it was', async () => {
    const id = await create('followed');
    let before: TreeHead = { origin: '', size: 0, root: EMPTY_ROOT };
    for (let events = 2; events <= 4; events++) {
      await insert('followed');
      await service.until(async () => {
        const entries = await entriesOf(await checkpoint());
        return entries.some((one) => one.type === 'checkpoint' && one.collectionId === id && one.size === events);
      });
      const now = await checkpoint();
      expect(now.origin).to.equal('vouch.example/log');
      const tree = new TileTree(now.size, async (name) => read(tilePath(name)));
      expect(toHex(await tree.root())).to.equal(toHex(now.root));
      expect(isConsistent(before, now, await tree.consistency(before.size))).to.equal(true);
      before = now;
    }
  });

  it('proves the newest checkpoint of a collection at once, and the verifier agrees', async () => {
    await create('proved');
    for (let events = 2; events <= 4; events++) {
      await insert('proved');
      const { status, body, text } = await logged('proved');
      expect(status, text).to.equal(200);
      const { checkpoint: found, log } = verifyLogged(body, await policyOf());
      expect(found.size).to.equal(BigInt(events));
      expect(found.origin.name).to.equal('proved');
      expect(log.origin).to.equal('vouch.example/log');
      const stranger = verifierKey(
        'vouch.example/log',
        1,
        log.log.publicKey.map((byte, i) => (i === 0 ? byte ^ 2 : byte)),
      );
      expect(() => verifyLogged(body, { ...policy(stranger), quorum: 'none' })).to.throw('no log of the policy');
      const other = {
        ...body,
        service_log: { ...body.service_log, entry: `${body.service_log.entry.slice(0, -8)}AAAAAAAA` },
      };
      expect(() => verifyLogged(other, policy(log.log))).to.throw('of another checkpoint: its signature differs');
    }
  });
  const policy = (key: Policy['logs'][number]['key']): Policy => ({
    ...{ logs: [{ key, url: undefined }], witnesses: [], groups: [], quorum: 'none' },
  });

  it('records the deletion of a collection, whose history stays provable', async () => {
    const id = await create('deleted');
    await insert('deleted');
    const { body } = await logged('deleted');
    expect((await project.rw.delete('/v1/namespaces/deleted')).status).to.be.below(300);
    await service.until(async () => {
      const entries = await entriesOf(await checkpoint());
      return (
        about(id, entries)
          .map(({ type }) => type)
          .join() === 'checkpoint,deletion'
      );
    });
    expect(verifyLogged(body, await policyOf()).checkpoint.size).to.equal(2n);
    const now = await checkpoint();
    const entries = await entriesOf(now);
    const index = entries.indexOf(about(id, entries)[0]!);
    const bundle = entriesIn(
      await read(tilePath({ level: 'entries', index: 0, width: tileWidth(now.size, 'entries', 0) })),
    );
    const tree = new TileTree(now.size, async (name) => read(tilePath(name)));
    expect(await tree.inclusion(index)).to.have.length.of.at.least(1);
    expect(toBase64(bundle[index]!)).to.equal(toBase64(Buffer.from(body.service_log.entry, 'base64url')));
  });

  it('includes a first write followed by a crash, although no request opens the collection', async () => {
    const other = await start({ ...settings, VOUCH_LOG_EVERY_MS: '2000' });
    const { rw } = await other.newProject();
    const { id } = (await rw.post('/v1/namespaces', { name: 'lost', dimension: 2, metric: 'squared_l2' })).body;
    expect((await rw.post('/v1/records', { collection: 'lost', values: [1, 2] })).status).to.equal(200);
    const crashed = other.mode === 'standalone' ? 'standalone' : await other.ownerOf(id);
    await other.kill(crashed);
    await other.restart(crashed);
    await other.until(async () => {
      const response = await fetch(`${other.url}/log/tile/entries/000.p/1`);
      if (!response.ok) return false;
      const [entry] = entriesIn(new Uint8Array(await response.arrayBuffer())).map(parseEntry);
      return entry?.type === 'checkpoint' && entry.collectionId === id && entry.size === 2;
    });
  });

  it("is followed by the client's pinned checkpoints", async () => {
    await create('client');
    await insert('client');
    const policy = `log ${await service.logKey()}\nquorum none\n`;
    const vouch = new Vouch({ url: service.url, apiKey: project.ro.key! });
    const found = clientVerifyLogged(await vouch.collection('client').checkpoint({ logged: true }), policy);
    expect([found.checkpoint.size, found.log.origin]).to.deep.equal([2, 'vouch.example/log']);
    const store = memoryStore();
    const first = await vouch.pinnedCheckpoints(store).checkLog(policy);
    expect(first.entries).to.equal(first.size);
    await insert('client');
    await logged('client');
    const second = await vouch.pinnedCheckpoints(store).checkLog(policy);
    expect(second.size)
      .to.equal(first.size + second.entries)
      .and.above(first.size);
    const [[key, kept]] = [...(store as Map<string, string>)] as [[string, string]];
    const seen = JSON.parse(kept);
    seen.peaks[0] = '00'.repeat(32);
    await store.set(key, JSON.stringify(seen));
    expect(await rejection(vouch.pinnedCheckpoints(store).checkLog(policy))).to.be.instanceOf(HistoryRewrittenError);
    const stranger = verifierKey('vouch.example/log', 1, generatedKey());
    const other = `log ${formatVerifierKey(stranger)}\nquorum none\n`;
    expect(await rejection(vouch.pinnedCheckpoints(memoryStore()).checkLog(other))).to.be.instanceOf(ProofError);
  });

  it('refuses requests for entries and tiles that it lacks', async () => {
    await create('empty');
    const empty = await logged('empty');
    expect([empty.status, empty.body.code]).to.deep.equal([409, 'conflict']);
    expect((await logged('nowhere')).body.code).to.equal('collection_not_found');
    const odd = await project.ro.get('/v1/proof/checkpoint?collection=empty&logged=yes');
    expect([odd.status, odd.body.code]).to.deep.equal([400, 'validation_error']);
    const { size } = await checkpoint();
    for (const path of [
      ...[
        'tile/0/999',
        `tile/0/000.p/${Math.min(255, size + 1)}`,
        'tile/entries/999',
        'tile/64/000',
        'tile/0/0',
        'tile/x/000',
      ],
      ...['tile/0/000.p/0', 'tile/0/x000/000', 'tile/0/..%2f000', 'tile'],
    ]) {
      const { status, body } = await project.ro.get(`/log/${path}`);
      expect([status, body.code], path).to.deep.equal([404, 'not_found']);
    }
  });
});
