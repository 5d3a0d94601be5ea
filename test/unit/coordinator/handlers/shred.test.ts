/**
 * Encrypted records at two coordinators and two shards over one vault: a shred that one coordinator answered is visible
 * at the other.
 */
import { expect } from 'chai';
import type { ClusterBackend } from '../../../../coordinator/cluster/clusterBackend.js';
import { shredKey } from '../../../../coordinator/handlers/shred.js';
import { toHex } from '../../../../shared/hashing/hash.js';
import type { Call, ResultOf } from '../../../../shared/protocol/calls.js';
import { eventually, expectCode } from '../../../support/expectations.js';
import { keyOf, textOf } from '../../../support/rigs/encryptedRig.js';
import { soon } from '../../../support/rigs/engine.js';
import { MemoryCluster } from '../../../support/rigs/memoryCluster.js';

const PROJECT = 'p';
const KEY = keyOf(1);
const NAMES = ['a', 'b', 'c', 'd'] as const;

describe('encrypted records in a cluster', () => {
  let cluster: MemoryCluster;
  let one: Awaited<ReturnType<MemoryCluster['coordinator']>>;
  let other: typeof one;
  let shards: Awaited<ReturnType<MemoryCluster['shard']>>[];

  beforeEach(async () => {
    cluster = new MemoryCluster();
    shards = [await cluster.shard('s1'), await cluster.shard('s2')];
    one = await cluster.coordinator();
    other = await cluster.coordinator();
    await eventually('both coordinators know both shards', async () =>
      (await Promise.all([one, other].map(({ backend }) => backend.health()))).every((health) => health.shards === 2),
    );
    for (const name of NAMES) await one.backend.create(PROJECT, { name, dimension: 2, index: 'brute' }, soon());
  });
  afterEach(() => cluster.stop());

  const call = async <C extends Call>(backend: ClusterBackend, name: string, what: C): Promise<ResultOf<C>> =>
    backend.call(await backend.find(PROJECT, name), what, soon());
  const insert = (backend: ClusterBackend, name: string, text: string, keyId: string | null = KEY) =>
    call(backend, name, {
      op: 'insertEncrypted',
      payload: Buffer.from(text),
      keyId,
      tag: 0,
      requestId: null,
    });
  const read = async (backend: ClusterBackend, name: string, id = 1): Promise<string> =>
    textOf((await call(backend, name, { op: 'getEncrypted', id })).payload);
  const shred = (backend: ClusterBackend): Promise<void> => shredKey(backend, PROJECT, KEY, soon());
  const owned = async (): Promise<string[]> => {
    const bucket = cluster.bucket('vouch-owners');
    const collections = await Promise.all(NAMES.map((name) => one.backend.find(PROJECT, name)));
    const entries = await Promise.all(collections.map(({ id }) => bucket.get(String(id))));
    return entries.map((entry) => (entry!.value as { shard: string }).shard);
  };

  async function expectShredded(): Promise<void> {
    const stored = await (await cluster.vault()).get(PROJECT, KEY);
    expect([stored!.entry.status, stored!.entry.wrapped, stored!.entry.pendingIds]).to.deep.equal([
      'shredded',
      null,
      [],
    ]);
    for (const { backend } of [one, other]) {
      for (const name of NAMES) {
        await expectCode(read(backend, name), 'record_shredded');
        await expectCode(call(backend, name, { op: 'get', id: 1 }), 'record_not_found');
        await expectCode(insert(backend, name, 'late'), 'validation_error');
      }
      expect((await backend.list(PROJECT, soon())).map(({ records }) => records)).to.deep.equal([0, 0, 0, 0]);
    }
  }

  it('are read and shredded through any coordinator, on any shard', async () => {
    expect(new Set(await owned()).size).to.equal(2);
    for (const [i, name] of NAMES.entries()) await insert(i % 2 === 0 ? one.backend : other.backend, name, name);
    for (const { backend } of [one, other]) for (const name of NAMES) expect(await read(backend, name)).to.equal(name);
    await shred(one.backend);
    await expectShredded();
    await shred(other.backend);
    await expectShredded();
  });

  it('are shredded also in a collection that the coordinator has not yet learned of', async () => {
    for (const name of NAMES) await insert(one.backend, name, name);
    other.reach.hold('vouch-catalog');
    other.reach.hold('vouch-owners');
    const late = await one.backend.create(PROJECT, { name: 'late', dimension: 2, index: 'brute' }, soon());
    await insert(one.backend, 'late', 'late');
    await shred(other.backend);
    await expectCode(one.backend.call(late.collection, { op: 'get', id: 1 }, soon()), 'record_not_found');
    other.reach.release('vouch-owners');
    other.reach.release('vouch-catalog');
    await one.backend.remove(PROJECT, 'late', soon());
    await expectShredded();
  });

  it('are shredded by the shard that takes over from a stopped one', async () => {
    for (const name of NAMES) await insert(one.backend, name, name);
    await shards[0]!.stop();
    // No shard serves them yet; a patient call may still succeed.
    await shred(one.backend).catch((error) => expect(error).to.include({ code: 'unavailable' }));
    const status = (await (await cluster.vault()).get(PROJECT, KEY))!.entry;
    expect([status.status, status.wrapped]).to.deep.equal(['shredded', null]);
    await eventually('another shard has finished the shred', async () => {
      const stored = await (await cluster.vault()).get(PROJECT, KEY);
      return stored!.entry.pendingIds.length === 0;
    });
    await shred(other.backend);
    await expectShredded();
  });

  it('remain readable after a shred at a coordinator that cannot reach the vault', async () => {
    for (const name of NAMES) await insert(one.backend, name, name);
    other.reach.cut = true;
    await expectCode(shred(other.backend), 'unavailable');
    expect(await read(one.backend, 'a')).to.equal('a');
    other.reach.cut = false;
    await shred(other.backend);
    await expectShredded();
  });

  /** Imports the log of collection `a` under another name. `finish` ends the import. */
  async function imported(name: string): Promise<{ finish(): Promise<void> }> {
    const { backend } = one;
    const { id, dimension, createdAtMs, createdBy } = await backend.find(PROJECT, 'a');
    const { frames, last } = await call(backend, 'a', { op: 'readLog', from: 0, maxBytes: 1 << 20 });
    const { stateHash, chainHead } = await call(backend, 'a', { op: 'proofState' });
    const { collection } = await backend.beginImport(
      PROJECT,
      {
        name,
        origin: { project: PROJECT, name: 'a', id },
        dimension,
        createdAtMs,
        createdBy: createdBy!,
        spec: { kind: 'brute', parameters: {} },
        end: { sequence: last, chainHead: toHex(chainHead), stateHash: toHex(stateHash) },
      },
      soon(),
    );
    const there = await backend.call(collection, { op: 'importFrames', frames, upTo: last }, soon());
    expect(there.stateHash).to.equal(toHex(stateHash));
    return { finish: () => backend.finishImport(collection, { audit: 'off', retentionDays: 0 }) };
  }

  it('can be read in an import with existing keys, and are included in a shred', async () => {
    await insert(one.backend, 'a', 'a');
    await (await imported('copy')).finish();
    expect(await read(one.backend, 'copy')).to.equal('a');
    await shred(one.backend);
    await expectCode(read(one.backend, 'copy'), 'record_shredded');
    await expectCode(call(one.backend, 'copy', { op: 'get', id: 1 }), 'record_not_found');
  });

  it('are skipped by a shred in an unfinished import, and shredded when the import is finished', async () => {
    await insert(one.backend, 'a', 'a');
    const early = await imported('early');
    await shred(one.backend);
    const stored = await (await cluster.vault()).get(PROJECT, KEY);
    expect([stored!.entry.status, stored!.entry.pendingIds.length]).to.deep.equal(['shredded', 1]);
    await early.finish();
    await expectCode(read(one.backend, 'early'), 'record_shredded');
    // A shard that begins to serve completes pending shreds.
    for (const shard of shards) await shard.stop();
    await cluster.shard('s1');
    await cluster.shard('s2');
    await eventually('the record is no longer counted', async () => {
      const [copy] = (await one.backend.list(PROJECT, soon())).filter(({ name }) => name === 'early');
      return copy!.records === 0;
    });
  });

  it('survive the deletion of another collection with their key', async () => {
    for (const name of NAMES) await insert(one.backend, name, name);
    await other.backend.remove(PROJECT, 'a', soon());
    expect(await read(one.backend, 'b')).to.equal('b');
    await shred(one.backend);
    for (const name of NAMES.slice(1)) await expectCode(read(other.backend, name), 'record_shredded');
  });
});
