/** A replaced entry leaves the vault's storage, whatever happens on the way. */
import { expect } from 'chai';
import type { VaultStore } from '../../../shared/vault/vaultStore.js';
import { eventually } from '../expectations.js';
import { persistently } from '../launch/persistently.js';
import { active, type Fixture, freshSecret, listed, made, shredded } from './vaultStorage.js';

export function erasureTests(fixture: Fixture): void {
  it('leaves no byte of a replaced wrapped key, in any form, even after a restart and a crash', async () => {
    const { vault, find, restart, crash } = fixture();
    const [old, kept] = [freshSecret(), freshSecret()];
    const beside = await made(vault, active(kept, 2));
    const stored = await made(vault, active(old, 1));
    // The storage may write an answered entry a little later.
    await eventually(
      'both are stored',
      async () => (await find({ old })).length > 0 && (await find({ kept })).length > 0,
    );
    await vault.replace(stored, shredded(1));
    const nothing = async (): Promise<void> => {
      expect(await find({ old })).to.deep.equal([]);
    };
    await nothing();
    await restart();
    await nothing();
    const crashed = await crash();
    await nothing();
    expect((await crashed.get('p', stored.keyId))!.entry).to.deep.equal(shredded(1));
    expect((await crashed.get('p', beside.keyId))!.entry).to.deep.equal(beside.entry);
    expect(await find({ kept })).not.to.deep.equal([]);
  });

  it('erases every earlier version of many keys that changed many times', async () => {
    const { vault, find } = fixture();
    const secrets: Record<string, Uint8Array> = {};
    const newest: Record<string, Uint8Array> = {};
    for (let key = 0; key < 30; key++) {
      let stored = await made(vault, active(freshSecret(), 1));
      for (let change = 0; change < 4; change++) {
        secrets[`key ${key}, change ${change}`] = stored.entry.wrapped!;
        const entry = active(freshSecret(), 1, change);
        stored = { ...stored, entry, revision: (await vault.replace(stored, entry))! };
      }
      newest[`key ${key}`] = stored.entry.wrapped!;
    }
    expect(await find(secrets)).to.deep.equal([]);
    // Late writes have reached the disk by then.
    const stored = async (): Promise<number> => new Set((await find(newest)).map(({ name }) => name)).size;
    await eventually('the newest are stored', async () => (await stored()) === 30);
    expect(await find(secrets)).to.deep.equal([]);
    expect((await listed(vault)).entries).to.have.length(30);
  });

  it('is completed at the next opening, at whatever step it was cut short', async () => {
    const { cutShort, find } = fixture();
    const steps: string[] = [];
    const outcomes = new Set<string>();
    const prepare = (vault: VaultStore) => made(vault, active(freshSecret(), 5));
    for await (const { step, old, vault } of cutShort(prepare, shredded(5))) {
      steps.push(step);
      // Looks before any call to the vault.
      const left = await find({ old: old.entry.wrapped! });
      // A server that has just started may have no JetStream yet.
      const { entry } = (await persistently(() => vault.get('p', old.keyId)))!;
      outcomes.add(entry.status);
      if (entry.status === 'active') expect(entry, step).to.deep.equal(old.entry);
      else {
        expect(entry, step).to.deep.equal(shredded(5));
        expect(left, step).to.deep.equal([]);
      }
      expect(new Set(left.map(({ file }) => file)).size, step).to.be.lessThan(2);
      // An unfinished replacement can be repeated.
      const stored = (await vault.get('p', old.keyId))!;
      expect(await vault.replace(stored, shredded(5)), step).to.be.greaterThan(stored.revision);
      expect(await find({ old: old.entry.wrapped! }), step).to.deep.equal([]);
    }
    expect(steps.length).to.be.greaterThan(1);
    expect([...outcomes], steps.join(', ')).to.include('shredded');
  });
}
