/** Functions of the client's package besides records, searches and proofs, against the service. */
import { expect } from 'chai';
import {
  CollectionNotFoundError,
  memoryStore,
  NotFoundError,
  ProofError,
  RecordShreddedError,
  Vouch,
  verifyErasure,
} from '../../client/index.js';
import { systemClock } from '../../shared/clock.js';
import { rejection } from '../support/expectations.js';
import { inBothModes } from '../support/launch/modes.js';

inBothModes('the client', (service) => {
  let vouch: Vouch;
  let admin: Vouch;
  beforeEach(async () => {
    const project = await service.newProject();
    vouch = new Vouch({ url: service.url, apiKey: project.rw.key });
    admin = new Vouch({ url: service.url, apiKey: project.admin.key });
    await vouch.createCollection({ name: 'c', dimension: 2, metric: 'squared_l2' });
  });

  it('lists, scrolls and counts records from any iterable', async () => {
    const c = vouch.collection('c');
    async function* records() {
      for (let n = 0; n < 25; n++) yield { values: [n, 0], metadata: { even: n % 2 === 0 }, tag: n };
    }
    expect(await c.insertMany(records(), { batchSize: 10 })).to.deep.equal({ inserted: 25 });
    const listed: number[] = [];
    for await (const { id, tag } of c.list({ limit: 10, metadataFilter: { even: true } })) listed.push(id - tag);
    expect(listed).to.deep.equal(new Array(13).fill(1));
    const ordered: number[] = [];
    for await (const { tag } of c.list({ limit: 10, orderBy: 'even', order: 'desc' })) ordered.push(tag);
    const numbers = Array.from({ length: 25 }, (_, n) => n);
    expect(ordered).to.deep.equal([...numbers.filter((n) => n % 2 === 0), ...numbers.filter((n) => n % 2 === 1)]);
    expect([await c.count(), await c.count({ metadataFilter: { even: false } })]).to.deep.equal([25, 12]);
    const { values } = await c.facets('even', { metadataFilter: { even: true } });
    expect(values).to.deep.equal([{ value: true, count: 13 }]);
    const { results } = await vouch.searchMulti({ collections: ['c'], query: [3, 0], k: 1 });
    expect(results).to.deep.equal([{ collection: 'c', id: 4, score: 0 }]);
    expect(await rejection(vouch.collection('none').count())).to.be.instanceOf(CollectionNotFoundError);
  });

  it('builds an index and waits for it', async () => {
    const c = vouch.collection('c');
    await c.insertMany(Array.from({ length: 50 }, (_, n) => [n, n]));
    await c.configureIndex({ type: 'hnsw', parameters: { efSearch: 64 } });
    expect(await c.waitForIndex({ pollMs: 20 })).to.include({ activeType: 'hnsw', status: 'active' });
    expect((await vouch.collections())[0]).to.include({ name: 'c', index: 'hnsw', recordCount: 50 });
    expect(await vouch.rebuildIndexes({ index: 'brute' })).to.include({ ok: true, records: 50 });
  });

  it('walks the graph, and deletes each part of it once', async () => {
    const { graph } = vouch.collection('c');
    const [from, to] = [await graph.createNode({ kind: 1 }), await graph.createNode({ kind: 2 })];
    const { edgeId } = await graph.createEdge({ from: from.nodeId, to: to.nodeId, kind: 4 });
    const { hits } = await graph.query({ start: from.nodeId, direction: 'both' });
    expect(hits.map(({ nodeId, depth }) => [nodeId, depth])).to.deep.equal([
      [1, 0],
      [2, 1],
    ]);
    expect((await graph.subgraph({ root: 1 })).nodes).to.have.length(2);
    expect((await graph.nodes({ kind: 2 })).nodes.map(({ nodeId }) => nodeId)).to.deep.equal([2]);
    expect((await graph.edges(1)).edges.map((edge) => edge.edgeId)).to.deep.equal([edgeId]);
    await graph.deleteEdge(edgeId);
    await graph.deleteNode(to.nodeId);
    expect(await rejection(graph.deleteNode(to.nodeId))).to.be.instanceOf(NotFoundError);
    expect((await graph.node(1)).kind).to.equal(1);
  });

  it('encrypts, reads and shreds', async () => {
    const c = vouch.collection('c');
    const { id, keyId } = await c.insertEncrypted({ payload: Buffer.from('secret').toString('base64') });
    expect(Buffer.from((await c.getEncrypted(id)).payload, 'base64').toString()).to.equal('secret');
    expect((await vouch.keyStatus(keyId)).status).to.equal('active');
    expect(await vouch.shred(keyId)).to.deep.equal({ keyId, shredded: true });
    expect(await rejection(c.getEncrypted(id))).to.be.instanceOf(RecordShreddedError);
  });

  it('erases, and verifies the certificate', async () => {
    const c = vouch.collection('c');
    const { keyId } = await c.insert({ values: [1, 2], metadata: { user_id: 'erased' }, keyId: 'new' });
    const filter = { collection: 'c', metadataFilter: { user_id: 'erased' } };
    const { certificates, partialFailures } = await vouch.erase({ ...filter, logged: true });
    expect([certificates.length, partialFailures]).to.deep.equal([1, undefined]);
    const [certificate] = certificates;
    const { publicKeys, ...verified } = verifyErasure(certificate!);
    expect(verified).to.deep.include({ keyId, deleted: [] });
    expect(verified.collections[0]!.contents[0]).to.include({ isInState: true });
    expect(verifyErasure(certificate!, { publicKeys }).keyId).to.equal(keyId);
    expect(() => verifyErasure(certificate!, { publicKeys: ['ab'.repeat(32)] })).to.throw(ProofError, /another key/);
    const forged = { ...certificate!, keyId: 'ab'.repeat(16) };
    expect(() => verifyErasure(forged)).to.throw(ProofError, /key_id/);
    expect((await vouch.erase({ keyIds: [keyId!] })).certificates).to.have.length(1);
    expect(await vouch.erase(filter)).to.deep.equal({ certificates: [] });
  });

  it('moves a collection between projects, with equal hashes', async () => {
    const c = vouch.collection('c');
    for (let n = 0; n < 4; n++) await c.insert({ values: [n, n] });
    const { collection: _, logBytes, logRoot, checkpoint, ...facts } = await c.exportInfo();
    expect(checkpoint.note).to.include(logRoot);
    await vouch.beginImport({ ...facts, name: 'copy' });
    let bytes = 0;
    for await (const piece of c.exportLog()) {
      bytes += piece.bytes.length;
      await vouch.importLog('copy', piece.bytes);
    }
    expect(bytes).to.be.above(logBytes);
    expect(await vouch.finishImport('copy')).to.include({ status: 'finished', stateHash: facts.stateHash });
    expect(await vouch.collection('copy').stateProof()).to.deep.equal(await c.stateProof());
    await vouch.dropCollection('copy');
    expect(await rejection(vouch.dropCollection('copy'))).to.be.instanceOf(CollectionNotFoundError);
  });

  it('reads the timeline page by page, between two times', async () => {
    const c = vouch.collection('c');
    const before = new Date(systemClock.nowMs());
    for (let n = 0; n < 5; n++) await c.insert({ values: [n, n] });
    await c.softDelete(2);
    const events: string[] = [];
    for await (const { logIndex, eventType } of c.timeline({ limit: 2 })) events.push(`${logIndex} ${eventType}`);
    expect(events.slice(-2)).to.deep.equal(['5 insert', '6 soft_delete']);
    const { total } = await c.timelinePage({ from: before, to: new Date(systemClock.nowMs() + 60_000), after: 4 });
    expect(total).to.equal(6);
  });

  it("creates, lists and revokes keys, and reports the service's state", async () => {
    const made = await admin.createKey({ scope: 'read_only', label: 'reader' });
    expect((await admin.keys()).find(({ id }) => id === made.id)?.label).to.equal('reader');
    const reader = new Vouch({ url: service.url, apiKey: made.key });
    expect((await reader.usage()).collections).to.equal(1);
    await admin.revokeKey(made.id);
    await service.until(async () => (await rejection(reader.usage())) !== undefined);
    expect((await admin.cluster()).collections.map(({ name }) => name)).to.deep.equal(['c']);
    expect((await vouch.health()).status).to.be.oneOf(['ok', 'degraded']);
    await vouch.collection('c').checkpoint();
    expect(await vouch.signingKeys()).to.not.have.length(0);
    expect((await vouch.indexConfig()).indexType).to.equal('collection_scoped');
  });

  it('checks by pinned checkpoints that a history continues, and that a recreated collection is another one', async () => {
    const pinned = vouch.pinnedCheckpoints(memoryStore());
    const c = vouch.collection('c');
    await c.insert({ values: [1, 1] });
    expect((await pinned.check('c')).last).to.equal(undefined);
    await c.insertMany([
      [2, 2],
      [3, 3],
    ]);
    expect((await pinned.check('c')).events).to.equal(2);
    await vouch.dropCollection('c');
    await vouch.createCollection({ name: 'c', dimension: 2, metric: 'squared_l2' });
    expect((await rejection(pinned.check('c'))).message).to.match(/another collection of the same name/);
  });
});
