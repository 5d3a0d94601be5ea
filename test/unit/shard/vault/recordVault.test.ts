/** A shred during an insert; `encryptedRaces.test.ts` has every order of their steps. */

import type { DataKeys } from '../../../../shard/vault/dataKeys.js';
import { RecordVault } from '../../../../shard/vault/recordVault.js';
import { systemClock, systemEntropy } from '../../../../shared/clock.js';
import { VouchError } from '../../../../shared/errors/errors.js';
import { expectCode } from '../../../support/expectations.js';
import { MemoryVault } from '../../../support/rigs/memoryVault.js';
import { active, freshSecret } from '../../../support/suites/vaultStorage.js';

const KEY_ID = 'ab'.repeat(16);
const TARGET = { project: 'p', collectionId: 1, genesisId: 1 };

describe('the vault of a collection', () => {
  it('refuses an insert whose key is shredded between the read of its entry and its use', async () => {
    const store = new MemoryVault();
    await store.create('p', KEY_ID, active(freshSecret(), 1));
    const keys: Pick<DataKeys, 'create' | 'encrypt' | 'decrypt' | 'check' | 'dataKey' | 'dataKeyToWrite'> = {
      create: async () => [undefined],
      encrypt: async () => {
        throw new VouchError('record_shredded', 'it is shredded');
      },
      decrypt: async () => Buffer.alloc(0),
      check: async () => 'opens',
      dataKey: async () => Buffer.alloc(0),
      dataKeyToWrite: async () => Buffer.alloc(0),
    };
    const vault = new RecordVault(store, { set: async () => undefined }, keys, {
      clock: systemClock,
      entropy: systemEntropy,
    });
    const options = { keyId: KEY_ID, mustExist: false, deadlineMs: systemClock.nowMs() + 10_000 };
    await expectCode(vault.encrypt(TARGET, Buffer.from('payload'), options), 'validation_error');
  });
});
