// Covers: shard/snapshot/contentChunk.ts, shard/vault/snapshotKeys.ts, shard/snapshot/format.ts
/** Snapshots of collections with records under keys: what they open, and what they have in plain. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { ContentKeys } from '../../../../shard/vault/contentKeys.js';
import type { SnapshotKeys } from '../../../../shard/vault/snapshotKeys.js';
import { systemClock } from '../../../../shared/clock.js';
import type { VouchError } from '../../../../shared/errors/errors.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import { eventually } from '../../../support/expectations.js';
import { samplesNamed } from '../../../support/launch/metricSamples.js';
import { EncryptedRig, keyOf, PROJECT } from '../../../support/rigs/encryptedRig.js';
import { fixed, soon } from '../../../support/rigs/engine.js';
import { snapshotsIn, type TestSnapshots } from '../../../support/rigs/snapshots.js';

const ID = 3;
const [ADA, BOB] = [keyOf(1), keyOf(2)];
const row = (value: number): Buffer => Buffer.from(fixed(value, value));

describe('a snapshot of records under keys', () => {
  let folder: string;
  let snapshots: TestSnapshots;
  let rig: EncryptedRig;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-contents-'));
    snapshots = await snapshotsIn(folder, { everyBytes: 1, keep: 1 });
    rig = new EncryptedRig([ID], { snapshots });
    await write('ada', 11_111, ADA);
    await write('bob', 12_222, BOB);
    await write('eve', 13_333, null);
    await write('tom', 14_444, ADA);
    await rig.write(ID, { op: 'softDelete', id: 'tom' });
    await write('ann', 15_555, BOB);
    await rig.write(ID, { op: 'delete', id: 'ann' });
    await rig.insert(ID, 'a payload', { keyId: ADA });
    await saved();
  });

  afterEach(async () => {
    await rig.stop();
    await rig.context.pasts.end();
    await snapshots.threads.close();
    await rm(folder, { recursive: true, force: true });
  });

  const write = (name: string, value: number, keyId: string | null): Promise<unknown> =>
    rig.write(ID, {
      ...{ op: 'insertBatch', count: 1, vectors: fixed(value, value), requestIds: null, externalIds: [name] },
      ...{ texts: [Buffer.from(`text of ${name}`)], metadata: [Buffer.from(`{"of":"${name}"}`)], keyIds: [keyId] },
    });
  const path = async (): Promise<string> => {
    const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.snapshot'));
    return join(folder, names.sort().at(-1) ?? '');
  };
  /** Waits for a snapshot with all writes so far. A snapshot is due when the log has grown. */
  async function saved(): Promise<void> {
    const sequence = await rig.sequence(ID);
    await eventually('a snapshot of the newest state exists', async () => {
      await rig.write(ID, { op: 'updateMetadata', id: 'eve', metadata: Buffer.from(`"${'-'.repeat(2_000)}"`) });
      return Number(basename(await path(), '.snapshot')) >= sequence;
    });
  }
  const get = (name: string): Promise<string> =>
    rig
      .collection(ID)
      .hosted.read({ op: 'get', id: name, text: true }, soon())
      .then(
        (got) => Buffer.from((got as Results['get']).text!).toString(),
        ({ code }: VouchError) => code,
      );
  const found = (): Promise<number[]> => rig.collection(ID).found();
  const stateHash = (): string => rig.collection(ID).hosted.openCollection!.stateHash()!.stateHash;
  /** Opens the collection again. Returns the number of openings from a snapshot. */
  const reopened = async (): Promise<number> => {
    await rig.restart();
    await rig.read(ID, { op: 'describe' });
    const opened = samplesNamed('vouch_open_seconds_count', await snapshots.metrics.texts());
    return opened.find(({ labels }) => labels.from === 'snapshot')?.value ?? 0;
  };

  it('opens with their contents, and a shred after it leaves the state of a replay', async () => {
    const before = stateHash();
    expect(await reopened()).to.equal(1);
    expect([stateHash(), await found()]).to.deep.equal([before, [1, 2, 3]]);
    expect([await get('ada'), await get('eve'), await get('tom')]).to.deep.equal([
      ...['text of ada', 'text of eve', 'record_not_found'],
    ]);
    expect(await rig.payload(ID, 6)).to.equal('a payload');
    await rig.shred(ADA);
    const after = stateHash();
    expect([await found(), await get('ada')]).to.deep.equal([[2, 3], 'record_not_found']);
    await rm(await path());
    await reopened();
    expect([stateHash(), await found()]).to.deep.equal([after, [2, 3]]);
  });

  it('has no content under a key in plain', async () => {
    const bytes = await readFile(await path());
    for (const secret of ['text of ada', '"of":"bob"', 'tom', 'ann', 'a payload', row(11_111), row(14_444)])
      expect(bytes.includes(secret), String(secret)).to.equal(false);
    for (const plain of ['text of eve', row(13_333)]) expect(bytes.includes(plain)).to.equal(true);
  });

  it('opens without the contents whose key was shredded in the vault since', async () => {
    const before = stateHash();
    await rig.stop();
    const stored = (await rig.vault.get(PROJECT, ADA))!;
    await rig.vault.replace(stored, { ...stored.entry, status: 'shredded', wrapped: null });
    expect(await reopened()).to.equal(1);
    expect([stateHash(), await found()]).to.deep.equal([before, [2, 3]]);
    await rig.write(ID, { op: 'shredKey', keyId: ADA });
    const after = stateHash();
    await rm(await path());
    await reopened();
    expect([stateHash(), await found()]).to.deep.equal([after, [2, 3]]);
  });

  it('keeps contents whose key the vault lacks for a while, and no other snapshot takes its place', async () => {
    await rig.stop();
    const stored = (await rig.vault.get(PROJECT, ADA))!;
    rig.vault.lose(PROJECT, ADA);
    const kept = await path();
    await reopened();
    await write('new', 17_777, null);
    expect(await found()).to.deep.equal([2, 3, 7]);
    await rig.stop();
    await rig.vault.create(PROJECT, ADA, stored.entry);
    expect(await path()).to.equal(kept);
    await reopened();
    expect([await found(), await get('ada')]).to.deep.equal([[1, 2, 3, 7], 'text of ada']);
  });

  it('is set aside if it is damaged, and the log opens the collection', async () => {
    const before = stateHash();
    await rig.stop();
    const bytes = await readFile(await path());
    bytes[bytes.length >> 1]! ^= 1;
    await writeFile(await path(), bytes);
    await reopened();
    expect([stateHash(), await get('ada')]).to.deep.equal([before, 'text of ada']);
    expect(snapshots.damages).to.have.length(1);
  });
});

describe('the keys of a snapshot', () => {
  const record = { id: 9, keyId: ADA, contentHash: 'c'.repeat(32) };
  const next = { id: 10, keyId: ADA, contentHash: 'd'.repeat(32) };
  const content = Buffer.from('the content');
  const keys = new ContentKeys(1, async (ids) => ids.map(() => new Uint8Array(32).fill(5)), systemClock);
  const ofSalt = async (byte: number): Promise<SnapshotKeys> => {
    const opened = keys.ofSnapshot(new Uint8Array(32).fill(byte));
    await opened.fetch([ADA]);
    return opened;
  };

  it('decrypt contents only for their records, in their order, for their commitments and their snapshot', async () => {
    const ciphertext = (await ofSalt(1)).encrypt([record, next], content)!;
    expect((await ofSalt(1)).decrypt([record, next], ciphertext)).to.deep.equal(content);
    for (const other of [
      [{ ...record, id: 11 }, next],
      [record, { ...next, id: 11 }],
      [{ ...record, contentHash: 'e'.repeat(32) }, next],
      [record, { ...next, contentHash: 'e'.repeat(32) }],
      [next, record],
      [record],
    ]) {
      const opened = await ofSalt(1);
      expect(() => opened.decrypt(other, ciphertext)).to.throw(Error);
    }
    const elsewhere = await ofSalt(2);
    expect(() => elsewhere.decrypt([record, next], ciphertext)).to.throw(Error);
  });

  it('decrypt and encrypt nothing once the data key is dropped', async () => {
    const opened = await ofSalt(1);
    const ciphertext = opened.encrypt([record], content)!;
    keys.drop(ADA);
    expect([opened.encrypt([record], content), opened.decrypt([record], ciphertext)]).to.deep.equal([
      undefined,
      undefined,
    ]);
  });
});
