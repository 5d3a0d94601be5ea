/** Failures of single keys; `encryptedRaces.test.ts` has every order of the steps of an insert and a shred. */
import { expect } from 'chai';
import type { DataKeys } from '../../../../shard/vault/dataKeys.js';
import { RecordVault } from '../../../../shard/vault/recordVault.js';
import { systemClock, systemEntropy } from '../../../../shared/clock.js';
import { VouchError } from '../../../../shared/errors/errors.js';
import { expectCode } from '../../../support/expectations.js';
import { MemoryVault } from '../../../support/rigs/memoryVault.js';
import { active, freshSecret } from '../../../support/suites/vaultStorage.js';

const KEY_ID = 'ab'.repeat(16);
const TARGET = { project: 'p', collectionId: 1, genesisId: 1 };

type Keys = Pick<DataKeys, 'create' | 'encrypt' | 'decrypt' | 'check' | 'dataKey' | 'dataKeyToWrite'>;
const KEYS: Keys = {
  create: async () => [undefined],
  encrypt: async () => {
    throw new VouchError('record_shredded', 'it is shredded');
  },
  decrypt: async () => Buffer.alloc(0),
  check: async () => 'opens',
  dataKey: async () => Buffer.alloc(0),
  dataKeyToWrite: async () => Buffer.alloc(0),
};

const vaultWith = (store: MemoryVault, keys: Keys): RecordVault =>
  new RecordVault(store, { set: async () => undefined }, keys, { clock: systemClock, entropy: systemEntropy });

describe('the vault of a collection', () => {
  it('refuses an insert whose key is shredded between the read of its entry and its use', async () => {
    const store = new MemoryVault();
    await store.create('p', KEY_ID, active(freshSecret(), 1));
    const vault = vaultWith(store, KEYS);
    const options = { keyId: KEY_ID, mustExist: false, deadlineMs: systemClock.nowMs() + 10_000 };
    await expectCode(vault.encrypt(TARGET, Buffer.from('payload'), options), 'validation_error');
  });

  it('overwrites the keys that it has opened if another one does not open', async () => {
    const store = new MemoryVault();
    const keyIds = ['01', '02', '03'].map((byte) => byte.repeat(16));
    for (const keyId of keyIds) await store.create('p', keyId, active(freshSecret(), 1));
    const opened: Buffer[] = [];
    const dataKey: Keys['dataKey'] = async ({ keyId }) => {
      if (keyId === keyIds[1]) throw new VouchError('internal_error', 'it does not verify');
      opened.push(Buffer.alloc(32, 7));
      return opened.at(-1)!;
    };
    const create: Keys['create'] = async () => Promise.all(keyIds.map((keyId) => store.get('p', keyId)));
    const vault = vaultWith(store, { ...KEYS, create, dataKey });
    await expectCode(vault.dataKeys(TARGET, keyIds), 'internal_error');
    await expectCode(vault.provideFresh(TARGET, 3), 'internal_error');
    expect(opened.map((key) => key.equals(Buffer.alloc(32)))).to.deep.equal([true, true, true, true]);
  });
});
