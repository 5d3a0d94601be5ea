/** Secrets that must never appear in a service's stored bytes: the keys of an encrypted record, wrapped and bare. */
import { join } from 'node:path';
import { readMasterKeyFile } from '../../../shard/vault/masterKeyFile.js';
import { unwrapKey } from '../../../shard/vault/wrappedKey.js';
import { openFolderVault } from '../../../shared/platform/standalonePlatform.js';
import type { StoredVaultEntry } from '../../../shared/vault/vaultStore.js';
import { type FoundBytes, findBytes } from '../findBytes.js';
import type { Service } from '../launch/service.js';

export async function vaultEntry(
  service: Service,
  project: string,
  keyId: string,
): Promise<StoredVaultEntry | undefined> {
  if (service.mode === 'cluster') return (await (await service.platform()).vault()).get(project, keyId);
  const vault = await openFolderVault(service.dataDir);
  try {
    return await vault.get(project, keyId);
  } finally {
    await vault.close();
  }
}

/** Secrets of an active key. */
export async function secretsOf(
  service: Service,
  project: string,
  keyId: string,
): Promise<{ readonly wrapped: Uint8Array; readonly dataKey: Uint8Array }> {
  const stored = await vaultEntry(service, project, keyId);
  const wrapped = stored?.entry.wrapped;
  if (stored === undefined || wrapped == null) throw new Error(`key ${keyId} is not in the vault`);
  const [master] = (await readMasterKeyFile(join(service.dataDir, 'master.key'))) ?? [];
  if (master === undefined) throw new Error('the folder has no master key');
  return { wrapped, dataKey: unwrapKey(master, wrapped, stored) };
}

/** Finds them in the data folder and, in a cluster, in its server's store. */
export async function findStored(
  service: Service,
  secrets: Readonly<Record<string, Uint8Array>>,
): Promise<readonly FoundBytes[]> {
  const folders = [service.dataDir, ...(service.mode === 'cluster' ? [service.nats.dataDir] : [])];
  return (await Promise.all(folders.map((folder) => findBytes(folder, secrets)))).flat();
}
