import { expect } from 'chai';
import { EMPTY_LOG, type LogEnd } from '../../shared/log/chain.js';
import type { Event } from '../../shared/log/event.js';
import { verifyFrame } from '../../shared/log/frame.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import {
  announcement,
  answered,
  begin,
  type Exported,
  exported,
  fill,
  finish,
  forged,
  imported,
  portrait,
  requestIdOf,
  send,
} from '../support/rigs/backups.js';

const FRAME_HEAD_BYTES = 64;
const noPause = async (): Promise<void> => {};

function expectRefused(answer: Answer, status: number, code: string, what = ''): void {
  expect([answer.status, answer.body?.code], `${what} ${answer.text}`).to.deep.equal([status, code]);
}

/** State of the import, as a repeated announcement returns it. */
const importState = async (client: Client, of: Exported, name: string): Promise<Answer['body']> =>
  answered(await begin(client, of, name));

inBothModes('export and import', (service, { start }) => {
  it('restores a collection under another name and project, with equal hashes', async () => {
    const source = await service.newProject();
    const target = await service.newProject();
    await fill(source.rw, 'lived');
    const taken = await exported(source.ro, 'lived');
    const ended = await imported(target.rw, taken, 'again');
    const { sequence, chain_head, state_hash } = taken.facts;
    expect(ended).to.include({ collection: 'again', status: 'finished', sequence, chain_head, state_hash });
    const [before, now] = [await portrait(source.ro, 'lived'), await portrait(target.ro, 'again')];
    for (const [what, was] of Object.entries(before)) expect(now, what).to.have.property(what).that.deep.equals(was);
    // Exported again, it is the same log with the same origin.
    const once = await exported(target.ro, 'again');
    expect(once.frames.map((frame) => Buffer.from(frame))).to.deep.equal(
      taken.frames.map((frame) => Buffer.from(frame)),
    );
    expect(announcement(once)).to.deep.equal(announcement(taken));
    // Its checkpoint names the served collection; otherwise, anyone could get an invented log signed under a real name.
    const [origin, after] = [taken, once].map(({ facts }) => facts.checkpoint.note.split('\n')[1]!.split('/'));
    expect(origin!.slice(0, 2)).to.deep.equal([source.name, 'lived']);
    expect(after).to.deep.equal([target.name, 'again', String(ended.id), origin![3]]);
  });

  it('lets the restored collection continue: it knows request ids, continues ids, and diverges from its source', async () => {
    const { rw } = await service.newProject();
    await fill(rw, 'a');
    await imported(rw, await exported(rw, 'a'), 'b');
    const receipt = { values: [3, 0, 0], request_id: requestIdOf(3) };
    const again = (collection: string): Promise<Answer> => rw.post('/v1/records', { collection, ...receipt });
    const replays = await Promise.all(['a', 'b'].map(again));
    expect(replays[0]!.body).to.deep.equal(replays[1]!.body);
    expect(replays[1]!.body).to.include({ id: 3, deduplicated: true });
    const fresh = await rw.post('/v1/records', { collection: 'b', values: [9, 9, 9] });
    expect(fresh.body.id).to.equal(55);
    expect((await rw.post('/v1/search', { collection: 'b', query: [9, 9, 9], k: 1 })).body.results[0].id).to.equal(55);
    expect((await rw.get('/v1/records/55?collection=a')).status).to.equal(404);
  });

  it('moves an empty collection too', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'empty', dimension: 3, metric: 'squared_l2' });
    const taken = await exported(rw, 'empty');
    expect(taken.frames).to.deep.equal([]);
    expect(await imported(rw, taken, 'again')).to.include({ status: 'finished', sequence: 0 });
    expect((await rw.post('/v1/records', { collection: 'again', values: [1, 2, 3] })).body.id).to.equal(1);
    // Its genesis still names the source.
    expect((await rw.get('/v1/export?collection=again')).body.origin).to.deep.equal(taken.facts.origin);
  });

  it('moves the requested index, and builds it here', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'a', dimension: 2, metric: 'squared_l2' });
    const batch = Array.from({ length: 1_500 }, (_, i) => [i % 40, Math.floor(i / 40)]);
    answered(await rw.post('/v1/vectors/batch-insert', { collection: 'a', batch }));
    await rw.post('/v1/namespaces/a/index', { type: 'hnsw', parameters: { m: 8 } });
    const taken = await exported(rw, 'a');
    expect(taken.facts.index).to.deep.equal({ type: 'hnsw', parameters: { m: 8 } });
    await imported(rw, taken, 'b');
    await service.until(async () => (await rw.get('/v1/namespaces/b/index')).body.active_type === 'hnsw');
    expect((await rw.get('/v1/export?collection=b')).body.index).to.deep.equal(taken.facts.index);
    const query = { query: [7, 7], k: 3 };
    const [before, after] = await Promise.all(
      ['a', 'b'].map((collection) => rw.post('/v1/search', { collection, ...query })),
    );
    expect(after!.body).to.deep.equal(before!.body);
  });

  it('begins a page with the frame of the event, and ends with the log', async () => {
    const { rw } = await service.newProject();
    await fill(rw, 'a');
    const { frames, facts } = await exported(rw, 'a');
    const page = async (from: number): Promise<Answer> => rw.get(`/v1/export/log?collection=a&from=${from}`);
    const first = await page(0);
    expect(Number(first.headers.get('vouch-last-sequence'))).to.equal(facts.sequence);
    // The batch of 40 is one frame.
    const batch = frames[6]!;
    for (const from of [7, 30, 46])
      expect((await page(from)).bytes.subarray(4, 4 + batch.length)).to.deep.equal(Buffer.from(batch));
    const beyond = await page(facts.sequence + 1);
    expect([beyond.status, beyond.bytes.length]).to.deep.equal([200, 0]);
    expect(beyond.headers.get('vouch-last-sequence')).to.equal(String(facts.sequence));
    expectRefused(await rw.get('/v1/export/log?collection=a&from=-1'), 400, 'validation_error');
  });

  it('allows only listing, counting and deleting a collection during its import', async () => {
    const { rw } = await service.newProject();
    await fill(rw, 'a');
    const taken = await exported(rw, 'a');
    answered(await begin(rw, taken, 'b'));
    answered(await send(rw, 'b', taken.frames.slice(0, 8)));
    const calls: [string, () => Promise<Answer>][] = [
      ['insert', () => rw.post('/v1/records', { collection: 'b', values: [1, 2, 3] })],
      ['batch', () => rw.post('/v1/vectors/batch-insert', { collection: 'b', batch: [[1, 2, 3]] })],
      ['encrypted', () => rw.post('/v1/records/encrypted', { collection: 'b', payload: 'AAAA' })],
      ['get', () => rw.get('/v1/records/1?collection=b')],
      ['patch', () => rw.patch('/v1/records/1/metadata?collection=b', {})],
      ['soft delete', () => rw.post('/v1/soft-delete', { collection: 'b', id: 1 })],
      ['delete', () => rw.post('/v1/delete', { collection: 'b', id: 1 })],
      ['search', () => rw.post('/v1/search', { collection: 'b', query: [1, 2, 3], k: 1 })],
      ['create', () => rw.post('/v1/namespaces', { name: 'b', dimension: 3, metric: 'squared_l2' })],
      ['index', () => rw.get('/v1/namespaces/b/index')],
      ['configure', () => rw.post('/v1/namespaces/b/index', { type: 'hnsw' })],
      ['node', () => rw.post('/v1/graph/node', { collection: 'b', kind: 1 })],
      ['nodes', () => rw.get('/v1/graph/nodes?collection=b')],
      ['proof', () => rw.get('/v1/proof/state?collection=b')],
      ['timeline', () => rw.get('/v1/timeline?collection=b')],
      ['export', () => rw.get('/v1/export?collection=b')],
      ['export log', () => rw.get('/v1/export/log?collection=b')],
    ];
    for (const [what, call] of calls) {
      const answer = await call();
      expectRefused(answer, 409, 'conflict', what);
      expect(answer.body.error, what).to.match(/is being imported/);
    }
    const { collections } = (await rw.get('/v1/namespaces')).body;
    expect(collections[0]).to.not.have.property('importing');
    expect(collections[1]).to.include({ name: 'b', importing: true });
    expect(collections[1].record_count).to.be.above(40);
    expect((await rw.get('/v1/usage')).body.collections).to.equal(2);
    expect((await rw.post('/v1/index/rebuild', {})).status).to.equal(200);
    expect((await rw.delete('/v1/namespaces/b')).status).to.equal(204);
    expectRefused(await send(rw, 'b', taken.frames), 404, 'collection_not_found');
    expect((await imported(rw, taken, 'b')).status).to.equal('finished');
  });

  it('reports its progress when announced again, and continues there, whatever is sent twice', async () => {
    const random = seededRandom(testSeed());
    const { rw } = await service.newProject();
    await fill(rw, 'a');
    const taken = await exported(rw, 'a');
    expect(await importState(rw, taken, 'b')).to.include({ status: 'importing', sequence: 0 });
    const { id } = await importState(rw, taken, 'b');
    for (let sent = 0; sent < taken.frames.length; ) {
      const from = random.int(sent + 1);
      const to = Math.min(sent + 1 + random.int(4), taken.frames.length);
      const reached = answered(await send(rw, 'b', taken.frames.slice(from, to)));
      sent = to;
      expect(await importState(rw, taken, 'b')).to.deep.equal(reached);
      if (sent < taken.frames.length) expectRefused(await finish(rw, 'b'), 409, 'conflict', 'too early');
    }
    const ended = answered(await finish(rw, 'b'));
    expect(ended).to.include({ id, status: 'finished', state_hash: taken.facts.state_hash });
    // A client that missed the answer may ask again.
    expect(answered(await finish(rw, 'b'))).to.deep.equal(ended);
    await rw.post('/v1/records', { collection: 'b', values: [1, 1, 1] });
    expect(await importState(rw, taken, 'b')).to.deep.equal(ended);
    expectRefused(await send(rw, 'b', taken.frames), 409, 'conflict', 'after the end');
  });

  it('refuses a name that a collection, another export, or another moment of this one has taken', async () => {
    const { rw } = await service.newProject();
    await fill(rw, 'a');
    const early = await exported(rw, 'a');
    expectRefused(await begin(rw, early, 'a'), 409, 'conflict');
    await rw.post('/v1/records', { collection: 'a', values: [1, 1, 1] });
    const late = await exported(rw, 'a');
    answered(await begin(rw, early, 'b'));
    expectRefused(await begin(rw, late, 'b'), 409, 'conflict');
    const other = { ...announcement(early, 'b'), origin: { ...early.facts.origin, id: 7 } };
    expectRefused(await rw.post('/v1/import', other), 409, 'conflict');
    for (const path of ['/v1/import/a/log', '/v1/import/a/finish'])
      expectRefused(await rw.postBytes(path, Buffer.alloc(0)), 409, 'conflict', path);
  });

  it('refuses a frame that does not verify or is not the next, and stores none of it', async () => {
    const seed = testSeed();
    const random = seededRandom(seed);
    const { rw } = await service.newProject();
    await fill(rw, 'a');
    await fill(rw, 'other');
    const taken = await exported(rw, 'a');
    const other = await exported(rw, 'other');
    const first = taken.frames[0]!;
    answered(await begin(rw, taken, 'b'));
    const refusedAt = async (frames: readonly Uint8Array[], what: string): Promise<void> => {
      const before = await importState(rw, taken, 'b');
      expectRefused(await send(rw, 'b', frames), 400, 'validation_error', what);
      expect(await importState(rw, taken, 'b'), what).to.deep.equal(before);
    };
    await refusedAt([other.frames[0]!], 'the first of another collection');
    await refusedAt([taken.frames[1]!], 'the second');
    const refusedFlipped = async (when: string): Promise<void> => {
      // Each byte before the first event is flipped: these numbers decide whether the frame is examined.
      for (let i = 0; i < 120; i++) {
        const flipped = Buffer.from(first);
        const at = i < FRAME_HEAD_BYTES ? i : random.int(flipped.length);
        flipped[at]! ^= 1 << random.int(8);
        await refusedAt([flipped], `byte ${at} flipped, ${when}, seed ${seed}`);
      }
    };
    await refusedFlipped('first');
    answered(await send(rw, 'b', [first]));
    await refusedFlipped('again');
    await refusedAt([other.frames[0]!], 'the first of another collection, again');
    await refusedAt([other.frames[1]!], 'the next of another collection');
    await refusedAt([taken.frames[2]!], 'the one after the next');
    for (const bytes of [Buffer.of(1), Buffer.of(0, 0, 0, 0), Buffer.of(9, 0, 0, 0, 1), Buffer.of(1, 0, 0, 0, 1)])
      expectRefused(await rw.postBytes('/v1/import/b/log', bytes), 400, 'validation_error', bytes.toString('hex'));
    // Valid frames before it in the request stay.
    expectRefused(await send(rw, 'b', [taken.frames[1]!, taken.frames[2]!, other.frames[3]!]), 400, 'validation_error');
    expect(await importState(rw, taken, 'b')).to.include({ sequence: 3 });
    answered(await send(rw, 'b', taken.frames));
    expect(answered(await finish(rw, 'b')).state_hash).to.equal(taken.facts.state_hash);
  });

  it('refuses valid frames of events that cannot follow', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'a', dimension: 3, metric: 'squared_l2' });
    for (const n of [1, 2, 3]) await rw.post('/v1/records', { collection: 'a', values: [n, n, n] });
    const taken = await exported(rw, 'a');
    const announced = { ...taken, facts: { ...taken.facts, sequence: 50 } };
    answered(await begin(rw, announced, 'b'));
    answered(await send(rw, 'b', taken.frames));
    let end: LogEnd = EMPTY_LOG;
    for (const frame of taken.frames) ({ end } = await verifyFrame(frame, end, noPause));
    const vector = new Uint8Array(12);
    const bare = { metadata: null, text: null, externalId: null };
    const insert = { type: 'insert', tag: 0, requestId: null, vector, ...bare } as const;
    const forgeries: [string, readonly Partial<Event>[], number][] = [
      ['a record out of order', [{ ...insert, recordId: 5 }], 4],
      ['a record again', [{ ...insert, recordId: 3 }], 4],
      ['another dimension', [{ ...insert, recordId: 4, vector: new Uint8Array(8) }], 4],
      ['an external id again', [4, 5].map((recordId) => ({ ...insert, recordId, externalId: vector })), 5],
      ['a replacement of a record without it', [{ ...insert, type: 'replace', recordId: 1, externalId: vector }], 3],
      ['a deletion of nothing', [{ type: 'delete', recordId: 9 }], 3],
      [
        'a second soft deletion',
        [
          { type: 'softDelete', recordId: 1 },
          { type: 'softDelete', recordId: 1 },
        ],
        1,
      ],
      [
        'metadata of a deleted record',
        [
          { type: 'delete', recordId: 1 },
          { type: 'updateMetadata', recordId: 1, metadata: vector },
        ],
        2,
      ],
      ['a false count of records', [{ ...insert, recordId: 4 }], 3],
      ['a node out of order', [{ type: 'addNode', nodeId: 2, recordId: null, kind: 1 }], 3],
      ['a node of no record', [{ type: 'addNode', nodeId: 1, recordId: 8, kind: 1 }], 3],
      ['an edge to nowhere', [{ type: 'addEdge', edgeId: 1, from: 1, to: 2, kind: 1 }], 3],
    ];
    for (const [what, events, live] of forgeries) {
      expectRefused(await send(rw, 'b', [await forged(taken.facts, end, events, live)]), 400, 'validation_error', what);
      expect(await importState(rw, announced, 'b'), what).to.include({ sequence: 3 });
    }
    // A possible event is accepted up to the announced end; the finish then shows that the log differs.
    answered(
      await send(rw, 'b', [
        await forged(
          taken.facts,
          end,
          Array.from({ length: 47 }, (_, i) => ({ ...insert, recordId: 4 + i })),
          50,
        ),
      ]),
    );
    expectRefused(await finish(rw, 'b'), 400, 'validation_error');
    expectRefused(await rw.get('/v1/records/1?collection=b'), 409, 'conflict');
  });

  it('accepts nothing beyond the announced end, and opens no log with other hashes', async () => {
    const { rw } = await service.newProject();
    await fill(rw, 'a');
    const taken = await exported(rw, 'a');
    const { facts, frames } = taken;
    answered(await begin(rw, { frames, facts: { ...facts, sequence: 6 } }, 'short'));
    expectRefused(await send(rw, 'short', frames), 400, 'validation_error');
    expect(await importState(rw, { frames, facts: { ...facts, sequence: 6 } }, 'short')).to.include({ sequence: 6 });
    for (const [name, change] of [
      ['head', { chain_head: facts.state_hash }],
      ['state', { state_hash: facts.chain_head }],
    ] as const) {
      const altered = { frames, facts: { ...facts, ...change } };
      answered(await begin(rw, altered, name));
      answered(await send(rw, name, frames));
      expectRefused(await finish(rw, name), 400, 'validation_error', name);
      expect(
        (await rw.get('/v1/namespaces')).body.collections.find((one: { name: string }) => one.name === name).importing,
      ).to.equal(true);
    }
  });

  it('refuses other projects, keys without write access, and bodies of another type', async () => {
    const { rw, ro } = await service.newProject();
    const other = await service.newProject();
    await fill(rw, 'a');
    const taken = await exported(ro, 'a');
    answered(await begin(rw, taken, 'b'));
    for (const path of ['/v1/export?collection=a', '/v1/export/log?collection=a'])
      expectRefused(await other.rw.get(path), 404, 'collection_not_found', path);
    expectRefused(await send(other.rw, 'b', taken.frames), 404, 'collection_not_found');
    expectRefused(await finish(other.rw, 'b'), 404, 'collection_not_found');
    expectRefused(await begin(ro, taken, 'c'), 403, 'forbidden');
    expectRefused(await send(ro, 'b', taken.frames), 403, 'forbidden');
    expectRefused(await finish(ro, 'b'), 403, 'forbidden');
    expectRefused(await rw.post('/v1/import/b/log', {}), 415, 'unsupported_media_type');
    expectRefused(await rw.postBytes('/v1/import', Buffer.from('{}')), 415, 'unsupported_media_type');
    const long = { ...announcement(taken), origin: { ...taken.facts.origin, name: 'no name here' } };
    expectRefused(await rw.post('/v1/import', long), 400, 'validation_error');
    for (const [field, value] of Object.entries({
      chain_head: 'x',
      dimension: 0,
      sequence: -1,
      metric: 'cosine',
      origin: null,
      // No real date or genesis has these values.
      created_at_ms: 8_640_000_000_000_001,
      'origin.name': { ...taken.facts.origin, name: 'é'.repeat(128) },
      'origin.project': { ...taken.facts.origin, project: '\ud800' },
    }))
      expectRefused(
        await rw.post('/v1/import', { ...announcement(taken, 'c'), [field.split('.')[0]!]: value }),
        400,
        'validation_error',
        field,
      );
    expectRefused(await rw.get('/v1/export?collection=c'), 404, 'collection_not_found');
  });

  it('shares encrypted records while the vault has their key, and loses them in every copy', async () => {
    const { rw } = await service.newProject();
    const elsewhere = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'a', dimension: 3, metric: 'squared_l2' });
    const payload = Buffer.from('a secret').toString('base64');
    const { key_id } = answered(await rw.post('/v1/records/encrypted', { collection: 'a', payload }));
    await rw.post('/v1/records', { collection: 'a', values: [1, 2, 3] });
    const taken = await exported(rw, 'a');
    await imported(rw, taken, 'b');
    await imported(elsewhere.rw, taken, 'b');
    const read = (client: Client, collection: string): Promise<Answer> =>
      client.get(`/v1/records/encrypted/1?collection=${collection}`);
    expect((await read(rw, 'b')).body).to.deep.equal({ id: 1, key_id, payload });
    expectRefused(await read(elsewhere.rw, 'b'), 500, 'internal_error');
    answered(await rw.delete(`/v1/crypto/shred/${key_id}`));
    const counts = async (): Promise<number[]> =>
      (await rw.get('/v1/namespaces')).body.collections.map((one: { record_count: number }) => one.record_count);
    for (const name of ['a', 'b']) expectRefused(await read(rw, name), 410, 'record_shredded', name);
    expect(await counts()).to.deep.equal([1, 1]);
    // An older copy restores nothing: it states the shred too, at once when imported again.
    await imported(rw, taken, 'c');
    expectRefused(await read(rw, 'c'), 410, 'record_shredded');
    answered(await rw.delete(`/v1/crypto/shred/${key_id}`));
    expect(await counts()).to.deep.equal([1, 1, 1]);
    expectRefused(await read(rw, 'c'), 410, 'record_shredded');
  });

  it('respects the capacities of the project', async () => {
    const small = await start({ VOUCH_MAX_RECORDS: '60', VOUCH_MAX_COLLECTIONS: '2' });
    const source = await service.newProject();
    await fill(source.rw, 'a');
    const taken = await exported(source.rw, 'a');
    const { rw } = await small.newProject();
    expect((await imported(rw, taken, 'one')).status).to.equal('finished');
    answered(await begin(rw, taken, 'two'));
    expectRefused(await begin(rw, taken, 'three'), 507, 'capacity_exceeded');
    expectRefused(await send(rw, 'two', taken.frames), 507, 'capacity_exceeded');
    expect(await importState(rw, taken, 'two')).to.include({ sequence: 6 });
    expect((await rw.delete('/v1/namespaces/one')).status).to.equal(204);
    answered(await send(rw, 'two', taken.frames));
    expect(answered(await finish(rw, 'two')).status).to.equal('finished');
  });
});
