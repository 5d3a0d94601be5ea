/** Tests that every `VaultStore` must pass. One call of `vaultSuite` runs them all over an implementation. */
import { expect } from 'chai';
import { mapConcurrent } from '../../../shared/scheduling/mapConcurrent.js';
import type { VaultStore } from '../../../shared/vault/vaultStore.js';
import { eventually, expectCode } from '../expectations.js';
import { seededRandom, testSeed } from '../model/random.js';
import { erasureTests } from './vaultErasure.js';
import {
  active,
  type Fixture,
  freshKeyId,
  freshSecret,
  listed,
  made,
  shredded,
  type VaultStorage,
} from './vaultStorage.js';

const KEYS = 3_000;
const AT_ONCE = 64;
const KEY = '0123456789abcdef0123456789abcdef';

export function vaultSuite(name: string, factory: () => Promise<VaultStorage>): void {
  describe(`vault: ${name}`, () => {
    let storage: VaultStorage | undefined;
    beforeEach(async () => {
      storage = undefined;
      storage = await factory();
    });
    afterEach(() => storage?.dispose());
    const fixture: Fixture = () => storage!;
    describe('entries', () => entryTests(fixture));
    describe('races', () => raceTests(fixture));
    describe('erasure', () => erasureTests(fixture));
    describe('damage', () => damageTests(fixture));
    describe('closed', () => closedTests(fixture));
  });
}

function entryTests(fixture: Fixture): void {
  it('is empty at first', async () => {
    const { vault } = fixture();
    expect(await vault.get('p', KEY)).to.equal(undefined);
    expect((await listed(vault)).entries).to.deep.equal([]);
    const stale = { project: 'p', keyId: KEY, entry: shredded(), revision: 1 };
    expect(await vault.replace(stale, shredded())).to.equal(undefined);
    expect(await vault.get('p', KEY)).to.equal(undefined);
  });

  it('creates a key only once, and returns the entry as written', async () => {
    const { vault } = fixture();
    const entry = active(freshSecret(), 1, 2 ** 53 - 1);
    const revision = await vault.create('p', KEY, entry);
    expect(revision).to.be.greaterThan(0);
    expect(await vault.create('p', KEY, shredded())).to.equal(undefined);
    expect(await vault.get('p', KEY)).to.deep.equal({ project: 'p', keyId: KEY, entry, revision });
  });

  it('replaces only the given revision', async () => {
    const { vault } = fixture();
    const first = await made(vault, active(freshSecret(), 1));
    const entry = { ...first.entry, collectionIds: [1, 2] };
    const revision = (await vault.replace(first, entry))!;
    expect(revision).to.be.greaterThan(first.revision);
    expect(await vault.replace(first, shredded())).to.equal(undefined);
    expect(await vault.replace({ ...first, revision: revision + 1 }, shredded())).to.equal(undefined);
    expect(await vault.get('p', first.keyId)).to.deep.equal({ ...first, entry, revision });
  });

  it('keeps a shredded key and its pending collections', async () => {
    const { vault, restart } = fixture();
    const never = await made(vault, shredded());
    const stored = await made(vault, active(freshSecret(), 3, 4));
    const revision = await vault.replace(stored, shredded(3, 4));
    for (const open of [async () => vault, restart]) {
      const opened = await open();
      expect(await opened.get('p', stored.keyId)).to.deep.equal({ ...stored, entry: shredded(3, 4), revision });
      expect(await opened.get('p', never.keyId)).to.deep.equal(never);
    }
  });

  it('keeps the keys of projects apart, whatever their names', async () => {
    const { vault } = fixture();
    const projects = ['a', 'A', '-', '_', '__proto__', 'con', '.master', 'x'.repeat(64)];
    const secrets = projects.map(freshSecret);
    for (const [n, project] of projects.entries())
      expect(await vault.create(project, KEY, active(secrets[n]!, n))).to.be.greaterThan(0);
    for (const [n, project] of projects.entries())
      expect((await vault.get(project, KEY))!.entry).to.deep.equal(active(secrets[n]!, n));
    expect((await listed(vault)).entries.map(({ project }) => project)).to.have.members(projects);
  });

  it('refuses invalid key ids and projects', async () => {
    const { vault } = fixture();
    for (const keyId of ['', '0', KEY.toUpperCase(), `${KEY}0`, `../${KEY.slice(3)}`, `${KEY.slice(1)}*`]) {
      await expectCode(vault.get('p', keyId), 'validation_error');
      await expectCode(vault.create('p', keyId, shredded()), 'validation_error');
    }
    for (const project of ['', 'x'.repeat(65)]) await expectCode(vault.get(project, KEY), 'validation_error');
  });

  it('keeps thousands of keys, and a key with thousands of collections', async () => {
    const { vault, restart } = fixture();
    const keys = Array.from({ length: KEYS }, () => ({ keyId: freshKeyId(), entry: active(freshSecret(), 1) }));
    await mapConcurrent(keys, AT_ONCE, ({ keyId, entry }) => vault.create('p', keyId, entry));
    const many = await made(vault, active(freshSecret(), ...Array.from({ length: 5_000 }, (_, id) => id)));
    const opened = await restart();
    const byKey = new Map((await listed(opened)).entries.map((stored) => [stored.keyId, stored.entry]));
    expect(byKey.size).to.equal(KEYS + 1);
    for (const { keyId, entry } of keys) expect(byKey.get(keyId)).to.deep.equal(entry);
    expect(byKey.get(many.keyId)).to.deep.equal(many.entry);
  });
}

function raceTests(fixture: Fixture): void {
  it('lets only one of many create a key', async () => {
    const { vault, peer } = fixture();
    const other = await peer();
    const entries = Array.from({ length: 20 }, (_, n) => active(freshSecret(), n));
    const made = await Promise.all(entries.map((entry, n) => (n % 2 ? vault : other).create('p', KEY, entry)));
    const winners = entries.filter((_, n) => made[n] !== undefined);
    expect(winners).to.have.length(1);
    expect((await other.get('p', KEY))!.entry).to.deep.equal(winners[0]);
  });

  it('loses none of several concurrent changes of a key', async () => {
    const { vault, peer } = fixture();
    const vaults = [vault, await peer(), await peer()];
    await made(vault, active(freshSecret()), KEY);
    const enter = async (through: VaultStore, id: number): Promise<void> => {
      for (;;) {
        const stored = (await through.get('p', KEY))!;
        const entry = { ...stored.entry, collectionIds: [...stored.entry.collectionIds, id] };
        if ((await through.replace(stored, entry)) !== undefined) return;
      }
    };
    const ids = Array.from({ length: 8 }, (_, n) => n);
    await Promise.all(vaults.flatMap((through, n) => ids.map((id) => enter(through, n * 100 + id))));
    const { entry } = (await vault.get('p', KEY))!;
    expect(entry.collectionIds).to.have.members(vaults.flatMap((_, n) => ids.map((id) => n * 100 + id)));
  });

  it('shows a shredding to another process at once', async () => {
    const { vault, peer } = fixture();
    const other = await peer();
    const stored = await made(vault, active(freshSecret(), 1));
    expect(await other.get('p', stored.keyId)).to.deep.equal(stored);
    await vault.replace(stored, shredded(1));
    expect((await other.get('p', stored.keyId))!.entry).to.deep.equal(shredded(1));
    expect(await other.replace(stored, active(freshSecret(), 1))).to.equal(undefined);
  });
}

function damageTests(fixture: Fixture): void {
  it('is reported for any flipped byte and any cut, and the stored bytes stay as they are', async () => {
    const { vault, read, plant, restart } = fixture();
    const { int } = seededRandom(testSeed());
    const stored = await made(vault, active(freshSecret(), 7, 8));
    const beside = await made(vault, active(freshSecret(), 9));
    const whole = await read('p', stored.keyId);
    const flips = Array.from(whole, (byte, at) => Object.assign(Buffer.from(whole), { [at]: byte ^ (1 << int(8)) }));
    const cuts = Array.from(whole, (_, length) => whole.subarray(0, length));
    for (const bytes of [...flips, ...cuts, Buffer.concat([whole, Buffer.from([0])])]) {
      await plant('p', stored.keyId, bytes);
      const error = await expectCode(vault.get('p', stored.keyId), 'internal_error');
      expect(error.message).to.contain(stored.keyId);
      expect(await read('p', stored.keyId)).to.deep.equal(bytes);
    }
    for (const open of [async () => vault, restart]) {
      const opened = await open();
      expect(await listed(opened)).to.deep.equal({ entries: [beside], damaged: [`p/${stored.keyId}`] });
      expect(await opened.create('p', stored.keyId, shredded())).to.equal(undefined);
    }
    await plant('p', stored.keyId, whole);
    expect((await (await restart()).get('p', stored.keyId))!.entry).to.deep.equal(stored.entry);
  });

  it('can be replaced by an entry without a key, which leaves no byte of it', async () => {
    const { vault, read, plant, find, restart } = fixture();
    const stored = await made(vault, active(freshSecret(), 7));
    const beside = await made(vault, active(freshSecret(), 9));
    const bent = await read('p', stored.keyId);
    bent[bent.length - 1]! ^= 1;
    await plant('p', stored.keyId, bent);
    // The storage may write an answered entry a little later.
    await eventually('the entry is stored', async () => (await find({ bent })).length > 0);
    const revision = await vault.replaceDamaged('p', stored.keyId, shredded(7, 8));
    expect(revision).to.be.greaterThan(stored.revision);
    await vault.settle('p', stored.keyId);
    expect(await find({ bent, key: stored.entry.wrapped! })).to.deep.equal([]);
    expect(await vault.replaceDamaged('p', stored.keyId, shredded())).to.equal(undefined);
    expect(await vault.replaceDamaged('p', beside.keyId, shredded())).to.equal(undefined);
    expect(await vault.replaceDamaged('p', freshKeyId(), shredded())).to.equal(undefined);
    const opened = await restart();
    expect(await opened.get('p', stored.keyId)).to.deep.equal({ ...stored, entry: shredded(7, 8), revision });
    expect(await opened.get('p', beside.keyId)).to.deep.equal(beside);
  });

  it('is reported for an entry that lies in another key’s place', async () => {
    const { vault, read, plant } = fixture();
    const [a, b] = [await made(vault, active(freshSecret(), 1)), await made(vault, active(freshSecret(), 1))];
    await plant('p', a.keyId, await read('p', b.keyId));
    expect((await expectCode(vault.get('p', a.keyId), 'internal_error')).message).to.contain(a.keyId);
    await vault.create('q', a.keyId, shredded());
    await plant('q', b.keyId, await read('p', b.keyId));
    await expectCode(vault.get('q', b.keyId), 'internal_error');
  });
}

function closedTests(fixture: Fixture): void {
  it('answers every call with unavailable', async () => {
    const { vault, peer } = fixture();
    const stored = await made(vault, active(freshSecret(), 1));
    await vault.close();
    await vault.close();
    await expectCode(vault.get('p', stored.keyId), 'unavailable');
    await expectCode(vault.create('p', freshKeyId(), shredded()), 'unavailable');
    await expectCode(vault.replace(stored, shredded()), 'unavailable');
    await expectCode(listed(vault), 'unavailable');
    expect(await (await peer()).get('p', stored.keyId)).to.deep.equal(stored);
  });

  it('finishes a running replacement', async () => {
    const { vault, peer } = fixture();
    const stored = await made(vault, active(freshSecret(), 1));
    const replaced = vault.replace(stored, shredded(1)).catch(() => 'refused');
    await vault.close();
    const outcome = await replaced;
    const other = await peer();
    await eventually('the answered change is visible', async () => {
      const { entry } = (await other.get('p', stored.keyId))!;
      return outcome === 'refused' || entry.status === 'shredded';
    });
  });
}
