/** A vault store in memory; a test may delay or fail each step. Keys are wrapped by a test's own master key. */

import { masterKeyOf } from '../../../shard/vault/masterKeyFile.js';
import { decrypt, type Encrypted, encrypt } from '../../../shard/vault/payloadCipher.js';
import { RecordVault } from '../../../shard/vault/recordVault.js';
import { DATA_KEY_BYTES, unwrapKey, wrapKey } from '../../../shard/vault/wrappedKey.js';
import { type Clock, systemEntropy } from '../../../shared/clock.js';
import { VouchError } from '../../../shared/errors/errors.js';
import { mapConcurrent } from '../../../shared/scheduling/mapConcurrent.js';
import type { EntryName } from '../../../shared/vault/entryName.js';
import type { ShredNotes } from '../../../shared/vault/shredNotes.js';
import type { StoredVaultEntry, VaultEntry, VaultStore } from '../../../shared/vault/vaultStore.js';

export type VaultStep = 'get' | 'create' | 'replace' | 'settle' | 'list';
/** `entry`: the previous entry for `replace`, the written one for `create` and `replace`. */
export type OnVaultStep = (step: VaultStep, keyId: string, entry?: VaultEntry) => Promise<void> | void;

export class MemoryVault implements VaultStore {
  /** Runs before a step takes effect; if it throws, the step fails without effect. */
  before: OnVaultStep = () => undefined;
  /** Runs after the effect; if it throws, the step fails although it took effect. */
  after: OnVaultStep = () => undefined;
  /** Entries, as `<project>.<key id>`, that do not verify. */
  readonly damaged = new Set<string>();
  readonly #entries = new Map<string, StoredVaultEntry>();
  #revision = 0;

  /** Current entry, past all injected faults. */
  peek(project: string, keyId: string): VaultEntry | undefined {
    return this.#entries.get(`${project}.${keyId}`)?.entry;
  }

  /** Removes the entry; no call does that. */
  lose(project: string, keyId: string): void {
    this.#entries.delete(`${project}.${keyId}`);
  }

  get keys(): number {
    return this.#entries.size;
  }

  async get(project: string, keyId: string): Promise<StoredVaultEntry | undefined> {
    await this.before('get', keyId);
    this.#assertWhole(project, keyId);
    const stored = this.#entries.get(`${project}.${keyId}`);
    await this.after('get', keyId);
    return stored && copyOf(stored);
  }

  async create(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    await this.before('create', keyId, entry);
    const isNew = !this.#entries.has(`${project}.${keyId}`);
    if (isNew) this.#put(project, keyId, entry);
    await this.after('create', keyId, entry);
    return isNew ? this.#revision : undefined;
  }

  async replace({ project, keyId, revision }: StoredVaultEntry, entry: VaultEntry): Promise<number | undefined> {
    await this.before('replace', keyId, entry);
    const isNewest = this.#entries.get(`${project}.${keyId}`)?.revision === revision;
    if (isNewest) this.#put(project, keyId, entry);
    await this.after('replace', keyId, entry);
    return isNewest ? this.#revision : undefined;
  }

  async replaceDamaged(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    if (!this.damaged.delete(`${project}.${keyId}`)) return undefined;
    this.#put(project, keyId, entry);
    return this.#revision;
  }

  async settle(_project: string, keyId: string): Promise<void> {
    await this.before('settle', keyId);
    await this.after('settle', keyId);
  }

  async writeOff(_project: string, _keyId: string): Promise<void> {}

  async *list(onDamage: (project: string, keyId: string) => void): AsyncGenerator<StoredVaultEntry, void, undefined> {
    await this.before('list', '');
    for (const [name, stored] of [...this.#entries])
      if (this.damaged.has(name)) onDamage(stored.project, stored.keyId);
      else yield copyOf(stored);
    await this.after('list', '');
  }

  async inspect(onDamage: (project: string, keyId: string) => void): Promise<void> {
    for await (const _ of this.list(onDamage));
  }

  async close(): Promise<void> {}

  #put(project: string, keyId: string, entry: VaultEntry): void {
    this.#entries.set(`${project}.${keyId}`, copyOf({ project, keyId, entry, revision: ++this.#revision }));
  }

  #assertWhole(project: string, keyId: string): void {
    if (this.damaged.has(`${project}.${keyId}`))
      throw new VouchError('internal_error', `the vault entry of key ${keyId} does not verify`);
  }
}

/** Copies the wrapped key: readers overwrite what they receive. */
const copyOf = ({ entry, ...rest }: StoredVaultEntry): StoredVaultEntry => ({
  ...rest,
  entry: { ...entry, wrapped: entry.wrapped === null ? null : entry.wrapped.slice() },
});

const MASTER = masterKeyOf(new Uint8Array(DATA_KEY_BYTES).fill(7));

/** A shard's vault, under a master key that never changes. */
export function recordVaultOver(
  store: VaultStore,
  clock: Clock,
  notes: Pick<ShredNotes, 'set'> = { set: async () => undefined },
): RecordVault {
  const keys = {
    create: (names: readonly EntryName[], collectionIds: readonly number[]) =>
      mapConcurrent(names, 64, async (name) => {
        const wrapped = wrapKey(MASTER, systemEntropy(DATA_KEY_BYTES), name, systemEntropy);
        const entry = { status: 'active', wrapped, collectionIds, pendingIds: [] } as const;
        const revision = await store.create(name.project, name.keyId, entry);
        return revision === undefined ? undefined : { ...name, entry, revision };
      }),
    encrypt: async (stored: StoredVaultEntry, payload: Uint8Array, associated: Uint8Array) =>
      encrypt(payload, { bytes: await keys.dataKey(stored), associated }, systemEntropy),
    decrypt: async (stored: StoredVaultEntry, encrypted: Encrypted, associated: Uint8Array) =>
      decrypt(encrypted, { bytes: await keys.dataKey(stored), associated }),
    dataKey: async (stored: StoredVaultEntry) => unwrapKey(MASTER, stored.entry.wrapped!, stored),
    dataKeyToWrite: async (stored: StoredVaultEntry) => unwrapKey(MASTER, stored.entry.wrapped!, stored),
    check: async (stored: StoredVaultEntry) => {
      unwrapKey(MASTER, stored.entry.wrapped!, stored).fill(0);
      return 'opens' as const;
    },
  };
  return new RecordVault(store, notes, keys, { clock, entropy: systemEntropy });
}
