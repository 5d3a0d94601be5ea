/** The vault from a coordinator's view, with no shard between. */
import { KeyEntries } from '../../../coordinator/cluster/deletion/keyEntries.js';
import type { Members } from '../../../coordinator/cluster/members/members.js';
import { KeyEntries as ShardKeyEntries } from '../../../shard/vault/keyEntries.js';
import type { VaultCall } from '../../../shared/protocol/calls.js';
import type { VaultStore } from '../../../shared/vault/vaultStore.js';

export function keyEntriesOf(vault: VaultStore): KeyEntries {
  const shard = new ShardKeyEntries(vault);
  return new KeyEntries({ askAny: (call: VaultCall) => shard.run(call) } as Pick<Members, 'askAny'>);
}
