// Covers: coordinator/body/erasures.ts, coordinator/contract/erasures.ts, shard/proof/erasures.ts, shard/records/keysOf.ts
// Covers: shard/vault/certificate.ts, verifier/erasure.ts, client/erasures.ts
/** Certificates of erasure: what they say, that every forged field is found, and what a request refuses. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { Claims, type Erasure, parsePolicy, signersOf, verifyErasure, verifyFrames } from '../../verifier/index.js';
import type { LogState, Moment } from '../../verifier/replay.js';
import { atLength } from '../support/atLength.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Client, Project } from '../support/launch/service.js';
import { exported, imported } from '../support/rigs/backups.js';

const KEY = 'a'.repeat(32);
const OTHER = 'b'.repeat(32);

inBothModes('certificates of erasure', (service) => {
  let project: Project;
  let rw: Client;

  const ok = async (answer: ReturnType<Client['post']>) => {
    const { status, body, text } = await answer;
    expect(status, text).to.equal(200);
    return body;
  };
  const collection = (name: string, more: object = {}) =>
    ok(rw.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2', ...more }));
  const insert = (name: string, more: object = {}) =>
    ok(rw.post('/v1/records', { collection: name, values: [1, 2], ...more }));
  const erase = (body: object) => ok(rw.post('/v1/erasures', body));
  const one = async (body: object) => {
    const { certificates, ...rest } = await erase(body);
    expect(rest).to.deep.equal({});
    expect(certificates).to.have.length(1);
    return certificates[0];
  };
  const contentsOf = ({ collections }: Erasure) =>
    collections.map(({ contents }) => contents.map(({ sequence, recordId, type }) => [sequence, recordId, type]));

  beforeEach(async () => {
    project = await service.newProject();
    rw = project.rw;
    await collection('c');
  });

  it('name every event with content under the key, in all collections, and prove them', async () => {
    await collection('d');
    await insert('c', { key_id: KEY, metadata: { a: 1 } });
    await insert('c');
    await insert('c', { key_id: KEY, expires_at: 4_000_000_000 });
    await ok(rw.patch('/v1/records/1/metadata?collection=c', { b: 2 }));
    await insert('c', { key_id: OTHER });
    await ok(rw.post('/v1/soft-delete', { collection: 'c', id: 3 }));
    const payload = { collection: 'd', payload: Buffer.from('a secret').toString('base64') };
    await ok(rw.post('/v1/records/encrypted', { ...payload, key_id: KEY, tag: 7 }));
    await ok(rw.post('/v1/records/encrypted', { ...payload, key_id: KEY }));
    await ok(rw.post('/v1/delete', { collection: 'd', id: 2 }));
    const certificate = await one({ key_ids: [KEY] });
    const erasure = verifyErasure(certificate);
    expect(erasure).to.include({ project: project.name, keyId: KEY });
    expect(erasure.deleted).to.deep.equal([]);
    expect(contentsOf(erasure)).to.deep.equal([
      [
        [1n, 1n, 'insert_under_key'],
        [3n, 3n, 'insert_under_key'],
        [4n, 1n, 'update_under_key'],
      ],
      [
        [1n, 1n, 'insert_encrypted'],
        [2n, 2n, 'insert_encrypted'],
      ],
    ]);
    // The content of event 1 was replaced, and record 2 of the other collection deleted.
    const inState = erasure.collections.map(({ contents }) => contents.map(({ isInState }) => isInState));
    expect(inState).to.deep.equal([
      [false, true, true],
      [true, false],
    ]);
    expect(erasure.collections.map(({ shred }) => shred.sequence)).to.deep.equal([7n, 4n]);
    const [c, d] = certificate.collections;
    expect([c.contents[1].record.state, c.contents[1].record.expires_at_ms]).to.deep.equal(['tombstoned', 4e12]);
    expect(d.contents[0].record).to.include({ state: 'live', tag: 7 });
    expect(c.shred.actor).to.have.all.keys('key_id', 'request_id');
    for (const { statement, checkpoint } of certificate.collections)
      expect(statement.split('\n')[1]).to.equal(checkpoint.checkpoint.split('\n')[1]);
    for (const name of ['c', 'd']) {
      const claims = new Claims();
      claims.addErasure('erasure', certificate);
      const report = await verifyFrames((await exported(rw, name)).frames, claims);
      expect(claims.results(report, undefined).map(({ problems }) => problems)).to.deep.equal([[]]);
    }
    expect((await rw.get('/v1/records/1?collection=c')).body.code).to.equal('record_shredded');
    expect((await rw.get('/v1/records/4?collection=c')).status).to.equal(200);
  });

  it('hold beside the log of their checkpoint under the known key, and beside no other', async () => {
    await insert('c', { key_id: KEY });
    await insert('c');
    const source = await exported(rw, 'c');
    await imported(rw, source, 'copy');
    await insert('copy', { key_id: KEY });
    const certificate = await one({ key_ids: [KEY] });
    const [signer] = signersOf(verifyErasure(certificate));
    const problemsIn = async (
      name: string,
      knownKey?: string,
      change: (after: LogState) => LogState = (after) => after,
    ) => {
      const claims = new Claims();
      claims.addErasure('erasure', certificate, knownKey);
      const watches = new Map(
        [...claims.watches].map(([at, all]) => [
          at,
          all.map(
            (watch) => (moment: Moment) => watch(at === 0n ? moment : { ...moment, after: change(moment.after) }),
          ),
        ]),
      );
      const report = await verifyFrames((await exported(rw, name)).frames, { watches, onEvent: claims.onEvent });
      return claims.results(report, undefined).flatMap(({ problems }) => problems);
    };
    // The collection and its import have one genesis, but not one log.
    for (const name of ['c', 'copy']) expect(await problemsIn(name, signer), name).to.deep.equal([]);
    const other = 'ab'.repeat(32);
    expect(await problemsIn('c', other)).to.include(`it is signed with another key, ${signer}`);
    const zeros = new Uint8Array(32);
    const altered = await problemsIn('c', signer, (after) => ({ ...after, logRoot: zeros, chainHead: zeros }));
    expect(altered.join()).to.match(/the root of the log at size 4 differs,the chain head .* differs/);
    await collection('d');
    expect(await problemsIn('d', signer)).to.deep.equal(['it says nothing of this collection']);
  });

  it('name the contents of each key if commits have contents under several', async () => {
    const keys = [KEY, OTHER, 'c'.repeat(32)];
    for (let i = 0; i < 2; i++)
      await ok(
        rw.post('/v1/vectors/batch-insert', {
          ...{ collection: 'c', batch: keys.map(() => [1, 2]) },
          key_ids: i === 0 ? keys : keys.toReversed(),
        }),
      );
    const { certificates } = await erase({ key_ids: keys });
    const sequences = (certificates as unknown[]).map((certificate) => {
      const { keyId, collections } = verifyErasure(certificate);
      return [keyId, collections[0]!.contents.map(({ sequence }) => Number(sequence))];
    });
    expect(sequences).to.deep.equal([
      [keys[0], [1, 6]],
      [keys[1], [2, 5]],
      [keys[2], [3, 4]],
    ]);
  });

  it('are found to be forged wherever one of their fields is changed', async () => {
    await insert('c', { key_id: KEY, expires_at: 4_000_000_000 });
    await insert('c', { key_id: KEY });
    await insert('c');
    const certificate = await one({ key_ids: [KEY] });
    verifyErasure(certificate);
    const places = scalarsIn(certificate);
    expect(places.length).to.be.above(40);
    for (const place of places) {
      const forged = structuredClone(certificate);
      place.change(forged);
      expect(() => verifyErasure(forged), place.path).to.throw();
    }
    for (const [what, change] of DROPPED) {
      const forged = structuredClone(certificate);
      change(forged);
      expect(() => verifyErasure(forged), what).to.throw();
    }
  });

  it('are answered again for a key that is shredded already, and stay true', async () => {
    await insert('c', { key_id: KEY });
    await ok(rw.delete(`/v1/crypto/shred/${KEY}`));
    await insert('c');
    const [first, second] = [await one({ key_ids: [KEY, KEY] }), await one({ key_ids: [KEY] })];
    const [earlier, later] = [verifyErasure(first), verifyErasure(second)];
    expect(contentsOf(earlier)).to.deep.equal(contentsOf(later));
    expect(earlier.collections[0]!.shred.sequence).to.equal(2n);
    expect(earlier.collections[0]!.checkpoint.size).to.equal(4n);
  });

  it('cover the keys of the records that match a filter, and count those without a key', async () => {
    for (const key_id of [KEY, OTHER, undefined])
      await insert('c', { metadata: { user: 17 }, ...(key_id && { key_id }) });
    await insert('c', { metadata: { user: 18 }, key_id: 'c'.repeat(32) });
    const answer = await erase({ collection: 'c', metadata_filter: { user: 17 } });
    expect(answer.certificates.map(({ key_id }: { key_id: string }) => key_id).sort()).to.deep.equal([KEY, OTHER]);
    expect(answer.without_key).to.equal(1);
    for (const certificate of answer.certificates) verifyErasure(certificate);
    const listed = await ok(rw.post('/v1/records/list', { collection: 'c' }));
    expect(listed.records.map(({ id }: { id: number }) => id)).to.deep.equal([3, 4]);
    expect(await erase({ collection: 'c', metadata_filter: { user: 17 } })).to.deep.equal({
      ...{ certificates: [], without_key: 1 },
    });
  });

  it('have logged checkpoints on request, which the policy of this log accepts, and of another refuses', async () => {
    await insert('c', { key_id: KEY });
    const certificate = await one({ key_ids: [KEY], logged: true });
    const log = (await rw.get('/log/checkpoint')).text.split('\n')[0]!;
    expect(certificate.collections[0].checkpoint.service_log.proof).to.include(log);
    verifyErasure(certificate);
    const policy = parsePolicy(`log ${await service.logKey()}\nquorum none\n`);
    expect(verifyErasure(certificate, policy).collections[0]!.log?.origin).to.equal(log);
    const stranger = `log ${log}+00000000+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nquorum none\n`;
    expect(() => verifyErasure(certificate, parsePolicy(stranger))).to.throw();
  });

  it('say that a collection of the key is deleted', async () => {
    await collection('d');
    for (const name of ['c', 'd']) await insert(name, { key_id: KEY });
    expect((await rw.delete('/v1/namespaces/d')).status).to.equal(204);
    const erasure = verifyErasure(await one({ key_ids: [KEY] }));
    expect([erasure.collections.length, erasure.deleted.length]).to.deep.equal([1, 1]);
  });

  it('are not made for a key that the vault does not know, or that another project has', async () => {
    await insert('c', { key_id: KEY });
    const stranger = (await service.newProject()).rw;
    const { body } = await stranger.post('/v1/erasures', { key_ids: [KEY] });
    expect(body).to.deep.equal({
      certificates: [],
      partial_failures: [
        { key_id: KEY, code: 'not_found', error: `the vault has no key ${KEY}: nothing was ever stored under it` },
      ],
    });
    expect((await rw.get('/v1/records/1?collection=c')).status).to.equal(200);
    const mixed = await erase({ key_ids: [OTHER, KEY] });
    expect(mixed.certificates.map(({ key_id }: { key_id: string }) => key_id)).to.deep.equal([KEY]);
    expect(mixed.partial_failures.map(({ key_id }: { key_id: string }) => key_id)).to.deep.equal([OTHER]);
  });

  it('are refused to a key of another scope, and to a key of some collections', async () => {
    await insert('c', { key_id: KEY });
    expect((await project.ro.post('/v1/erasures', { key_ids: [KEY] })).body.code).to.equal('forbidden');
    const limited = await ok(project.admin.post('/v1/keys', { scope: 'read_write', collections: ['c'] }));
    const answer = await service.client(limited.key).post('/v1/erasures', { key_ids: [KEY] });
    expect([answer.status, answer.body.code]).to.deep.equal([403, 'forbidden']);
    expect((await rw.get('/v1/records/1?collection=c')).status).to.equal(200);
  });

  it('are entries of the access log of a collection whose reads are audited', async () => {
    await collection('d', { audit_reads: true });
    await insert('d', { key_id: KEY });
    verifyErasure(await one({ key_ids: [KEY] }));
    const { entries } = await ok(project.admin.get('/v1/access?collection=d'));
    expect(entries.map(({ kind }: { kind: string }) => kind)).to.deep.equal(['POST /v1/erasures']);
  });

  it('need exactly one way to name the keys, and refuse what would erase everything', async () => {
    await insert('c', { key_id: KEY, metadata: { a: 1 } });
    const refused: readonly (readonly [object, number, RegExp])[] = [
      [{}, 400, /exactly one of key_ids and metadata_filter/],
      [{ key_ids: [KEY], metadata_filter: { a: 1 } }, 400, /exactly one of/],
      [{ key_ids: [] }, 400, /key_ids/],
      [{ key_ids: ['x'] }, 400, /key_ids\[0\]/],
      [{ key_ids: Array.from({ length: 1_001 }, () => KEY) }, 400, /key_ids/],
      [{ key_ids: [KEY], collection: 'c' }, 400, /collection needs metadata_filter/],
      [{ collection: 'c', metadata_filter: {} }, 400, /empty.*name the keys in key_ids/],
      [{ collection: 'x', metadata_filter: { a: 1 } }, 404, /no collection named/],
      [{ key_id: KEY }, 400, /did you mean key_ids/],
      [{ key_ids: [KEY], logged: 1 }, 400, /logged/],
    ];
    for (const [body, status, message] of refused) {
      const answer = await rw.post('/v1/erasures', body);
      expect(answer.status, answer.text).to.equal(status);
      expect(answer.body.error).to.match(message);
    }
    expect((await rw.get('/v1/records/1?collection=c')).status).to.equal(200);
  });

  it('prove 600 contents of a key, over several pages, and are refused beyond 10,000', async function () {
    this.timeout(60_000);
    const batch = async (count: number) =>
      ok(
        rw.post('/v1/vectors/batch-insert', {
          collection: 'c',
          batch: Array.from({ length: count }, (_, i) => [i % 100, 1]),
          key_ids: Array.from({ length: count }, () => KEY),
        }),
      );
    await batch(600);
    const erasure = verifyErasure(await one({ key_ids: [KEY] }));
    expect(erasure.collections[0]!.contents).to.have.length(600);
    expect(erasure.collections[0]!.contents.every(({ isInState }) => isInState)).to.equal(true);
    await ok(
      rw.post('/v1/vectors/batch-insert', {
        collection: 'c',
        batch: Array.from({ length: 10_001 }, () => [1, 1]),
        key_ids: Array.from({ length: 10_001 }, () => OTHER),
      }),
    );
    const answer = await rw.post('/v1/erasures', { key_ids: [OTHER] });
    expect([answer.status, answer.body.code]).to.deep.equal([400, 'validation_error']);
    expect(answer.body.error).to.match(/has 10001 contents .* certifies 10000/);
    expect((await rw.get(`/v1/crypto/status/${OTHER}`)).body.status).to.equal('active');
  });
});

inBothModes(atLength('certificates of erasure after a restart from a snapshot'), (_, { start }) => {
  it('name the events of records that were deleted before', async () => {
    const service = await start({ VOUCH_SNAPSHOT_EVERY_BYTES: '1024' });
    const { rw } = await service.newProject();
    const ok = async (answer: ReturnType<Client['post']>) => {
      const { status, body, text } = await answer;
      expect(status, text).to.equal(200);
      return body;
    };
    await ok(rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' }));
    for (const id of [1, 2]) {
      const payload = Buffer.alloc(2_048).toString('base64');
      await ok(rw.post('/v1/records/encrypted', { collection: 'c', payload, key_id: KEY }));
      if (id === 1) await ok(rw.post('/v1/delete', { collection: 'c', id }));
    }
    await ok(rw.delete(`/v1/crypto/shred/${KEY}`));
    await service.until(async () => (await snapshotsIn(service.dataDir)) > 0);
    const names = service.processNames.filter((name) => name !== 'coordinator');
    for (const name of names) await service.kill(name);
    for (const name of names) await service.restart(name);
    await service.until(async () => (await rw.get('/v1/proof/state?collection=c')).status === 200);
    const { certificates } = await ok(rw.post('/v1/erasures', { key_ids: [KEY] }));
    const { shred, contents } = verifyErasure(certificates[0]).collections[0]!;
    expect(shred.sequence).to.equal(4n);
    expect(contents.map(({ sequence, isInState }) => [sequence, isInState])).to.deep.equal([
      [1n, false],
      [3n, true],
    ]);
  });
});

const snapshotsIn = async (dataDir: string): Promise<number> =>
  (await readdir(join(dataDir, 'snapshots'), { recursive: true })).filter((name) => name.endsWith('.snapshot')).length;

/** Parts without which a certificate would say less than its signers did. */
const DROPPED: readonly (readonly [string, (certificate: Certificate) => void])[] = [
  ['without its collection', (certificate) => certificate.collections.pop()],
  ['with its collection twice', (certificate) => certificate.collections.push(certificate.collections[0]!)],
  ['without a content', ({ collections }) => collections[0]!.contents.pop()],
  ['with a content twice', ({ collections }) => collections[0]!.contents.push(collections[0]!.contents[1]!)],
  ['without the actor', ({ collections }) => delete collections[0]!.shred.actor],
  ['without the expiry', ({ collections }) => delete collections[0]!.contents[0]!.record!.expires_at_ms],
  ['without the state', ({ collections }) => delete collections[0]!.state],
];

interface Certificate {
  readonly collections: {
    readonly contents: { record?: { expires_at_ms?: number } }[];
    readonly shred: { actor?: unknown };
    state?: unknown;
  }[];
}

interface Scalar {
  readonly path: string;
  /** Changes the value in a copy. */
  readonly change: (copy: unknown) => void;
}

function scalarsIn(value: unknown, path: readonly string[] = []): Scalar[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, inner]) => scalarsIn(inner, [...path, name]));
  const change = (copy: unknown): void => {
    let holder = copy as Record<string, unknown>;
    for (const name of path.slice(0, -1)) holder = holder[name] as Record<string, unknown>;
    holder[path.at(-1)!] = otherThan(value);
  };
  return [{ path: path.join('.'), change }];
}

/** Another value that a reader would not notice at a glance. */
function otherThan(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  const text = value as string;
  const middle = Math.floor(text.length / 2);
  const other = text[middle] === '1' ? '2' : '1';
  return `${text.slice(0, middle)}${other}${text.slice(middle + 1)}`;
}
