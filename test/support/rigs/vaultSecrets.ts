/** Secrets that must never appear in a service's stored bytes: the keys of an encrypted record, wrapped and bare. */
import { join } from 'node:path';
import { connect } from 'nats';
import { readMasterKeyFile } from '../../../shard/vault/masterKeyFile.js';
import { unwrapKey } from '../../../shard/vault/wrappedKey.js';
import { openFolderVault } from '../../../shared/platform/standalonePlatform.js';
import { sealStream, sealSubject } from '../../../shared/transport/subjects.js';
import { projectToHex } from '../../../shared/vault/entryName.js';
import { decodeSeal } from '../../../shared/vault/seal.js';
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

interface VaultSecrets {
  readonly wrapped: Uint8Array;
  readonly dataKey: Uint8Array;
  /** The halves of its seal; empty in a folder, where the wrapped key is not sealed. */
  readonly halves: readonly Uint8Array[];
}

/** Secrets of an active key. */
export async function secretsOf(service: Service, project: string, keyId: string): Promise<VaultSecrets> {
  const stored = await vaultEntry(service, project, keyId);
  const wrapped = stored?.entry.wrapped;
  if (stored === undefined || wrapped == null) throw new Error(`key ${keyId} is not in the vault`);
  const [master] = (await readMasterKeyFile(join(service.dataDir, 'master.key'))) ?? [];
  if (master === undefined) throw new Error('the folder has no master key');
  const halves = service.mode === 'cluster' ? await halvesOf(service, project, keyId) : [];
  return { wrapped, dataKey: unwrapKey(master, wrapped, stored), halves };
}

async function halvesOf(service: Service, project: string, keyId: string): Promise<readonly Uint8Array[]> {
  const nc = await connect({ servers: service.nats.url });
  try {
    const { streams } = await nc.jetstreamManager();
    const subject = sealSubject(1, projectToHex(project), keyId);
    const halves: Uint8Array[] = [];
    const last = await streams.getMessage(sealStream(1), { last_by_subj: subject });
    for (let seq = last.seq; seq > 0 && halves.length < 2; seq--) {
      const found = await streams.getMessage(sealStream(1), { seq }).catch(() => undefined);
      if (found?.subject === subject) halves.unshift(decodeSeal(found.data)!.key);
    }
    return halves;
  } finally {
    await nc.close();
  }
}

/** Keys, by name, that can be recovered from the stored bytes. A server that is killed may keep one half of a seal. */
export async function recoverable(
  service: Service,
  keys: Readonly<Record<string, Pick<VaultSecrets, 'wrapped' | 'halves'>>>,
): Promise<readonly string[]> {
  const secrets = Object.entries(keys).flatMap(([name, { wrapped, halves }]) =>
    [wrapped, ...halves].map((bytes, part) => [`${name} ${part}`, bytes] as const),
  );
  const names = new Set((await findStored(service, Object.fromEntries(secrets))).map(({ name }) => name));
  const has = (name: string, part: number): boolean => names.has(`${name} ${part}`);
  return Object.keys(keys).filter((name) => has(name, 0) || (has(name, 1) && has(name, 2)));
}

/** Finds them in the data folder and, in a cluster, in its server's store. */
export async function findStored(
  service: Service,
  secrets: Readonly<Record<string, Uint8Array>>,
): Promise<readonly FoundBytes[]> {
  const folders = [service.dataDir, ...(service.mode === 'cluster' ? [service.nats.dataDir] : [])];
  return (await Promise.all(folders.map((folder) => findBytes(folder, secrets)))).flat();
}
