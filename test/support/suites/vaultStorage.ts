/** A vault under test, operations on its storage, and entries for the tests. */
import { expect } from 'chai';
import { systemEntropy } from '../../../shared/clock.js';
import { toHex } from '../../../shared/hashing/hash.js';
import type { StoredVaultEntry, VaultEntry, VaultStore } from '../../../shared/vault/vaultStore.js';
import type { FoundBytes } from '../findBytes.js';

export interface VaultStorage {
  /** A new, empty vault. */
  readonly vault: VaultStore;
  /** The vault from another process. */
  peer(): Promise<VaultStore>;
  /** Closes every process's vault and opens it again. */
  restart(): Promise<VaultStore>;
  /** Kills the process that writes to the storage, restarts it, and opens the vault. */
  crash(): Promise<VaultStore>;
  /** Searches every byte of the storage for secrets. */
  find(secrets: Readonly<Record<string, Uint8Array>>): Promise<readonly FoundBytes[]>;
  /** Stored bytes of the key. */
  read(project: string, keyId: string): Promise<Buffer>;
  /** Replaces the stored bytes, as no call of the vault does. */
  plant(project: string, keyId: string, bytes: Uint8Array): Promise<void>;
  /**
   * Replaces the entry again and again, each time cut short at a later step, until it completes. After each attempt the
   * vault is reopened. `prepare` makes the entry that is replaced.
   */
  cutShort(prepare: (vault: VaultStore) => Promise<StoredVaultEntry>, entry: VaultEntry): AsyncIterable<CutShort>;
  dispose(): Promise<void>;
}

export interface CutShort {
  /** Name of the step, for failures. */
  readonly step: string;
  readonly old: StoredVaultEntry;
  readonly vault: VaultStore;
}

export type Fixture = () => VaultStorage;

export const freshKeyId = (): string => toHex(systemEntropy(16));
export const freshSecret = (): Uint8Array => systemEntropy(69);
export const active = (wrapped: Uint8Array, ...collectionIds: number[]): VaultEntry => ({
  status: 'active',
  wrapped,
  collectionIds,
  pendingIds: [],
});
export const shredded = (...pendingIds: number[]): VaultEntry => ({
  status: 'shredded',
  wrapped: null,
  collectionIds: pendingIds,
  pendingIds,
});

/** Makes the entry and returns it as `get` does. */
export async function made(vault: VaultStore, entry: VaultEntry, keyId = freshKeyId()): Promise<StoredVaultEntry> {
  const revision = await vault.create('p', keyId, entry);
  expect(revision).to.be.greaterThan(0);
  return { project: 'p', keyId, entry, revision: revision! };
}

export async function listed(vault: VaultStore): Promise<{ entries: StoredVaultEntry[]; damaged: string[] }> {
  const entries: StoredVaultEntry[] = [];
  const damaged: string[] = [];
  for await (const stored of vault.list((project, keyId) => damaged.push(`${project}/${keyId}`))) entries.push(stored);
  return { entries, damaged };
}
