/** The vault as a coordinator sees it. The shard's part runs in this process, without messages. */
import { generateKeyPairSync } from 'node:crypto';
import { KeyEntries } from '../../../coordinator/cluster/deletion/keyEntries.js';
import type { Members } from '../../../coordinator/cluster/members/members.js';
import { VaultCalls } from '../../../shard/vault/vaultCalls.js';
import { systemClock } from '../../../shared/clock.js';
import type { VaultCall } from '../../../shared/protocol/calls.js';
import { signerOf } from '../../../shared/signing/signer.js';
import type { VaultStore } from '../../../shared/vault/vaultStore.js';

export function keyEntriesOf(vault: VaultStore): KeyEntries {
  const calls = new VaultCalls(vault, signerOf(generateKeyPairSync('ed25519').privateKey), systemClock);
  return new KeyEntries({ askAny: (call: VaultCall) => calls.run(call) } as Pick<Members, 'askAny'>);
}
