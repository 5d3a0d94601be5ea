/** Interface of the store of wrapped data keys, outside of all logs, because keys must be erasable. It knows no plaintext key. */
import type { EntryName } from './entryName.js';

/** A wrapped key, or the remains of a shredded one. */
export interface VaultEntry {
  readonly status: 'active' | 'shredded';
  /** The data key under the master key; null once it is shredded. */
  readonly wrapped: Uint8Array | null;
  /** Collections that may have records under the key: listed before the first such record is committed. */
  readonly collectionIds: readonly number[];
  /** Collections whose log does not record the shred yet. Empty while the key is active. */
  readonly pendingIds: readonly number[];
}

export interface StoredVaultEntry extends EntryName {
  readonly entry: VaultEntry;
  /** For `replace`; opaque. */
  readonly revision: number;
}

/** Overwrites this copy of the wrapped key. Called when an entry is no longer needed, so that no copy outlives a shred. */
export const forget = (stored: StoredVaultEntry | undefined): void => {
  stored?.entry.wrapped?.fill(0);
};

/** Key ids belong to a project. Every call throws VouchError `unavailable` if the store cannot be reached in time. */
export interface VaultStore {
  /** The newest entry. Throws VouchError `internal_error`, naming the key id, if it does not verify. */
  get(project: string, keyId: string): Promise<StoredVaultEntry | undefined>;
  /** Creates an entry. Resolves with its revision when it is durable; undefined if an entry exists. */
  create(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined>;
  /**
   * Replaces the stored entry if its revision is still that of `stored`; otherwise changes nothing and resolves to undefined. When
   * it resolves to a revision, the new entry is durable, and the old key cannot be recovered from the bytes of the store. If a part
   * of the store is away, `settle` reports it. After a crash the store has the old or the new entry. Remaining bytes of the old one
   * are erased at the next opening.
   */
  replace(stored: StoredVaultEntry, entry: VaultEntry): Promise<number | undefined>;
  /** Replaces a damaged entry by `entry`, which has no key. Resolves to undefined if no entry exists. */
  replaceDamaged(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined>;
  /**
   * Resolves when the newest entry is on every server, and **no replaced key can be recovered** from the bytes of any. Throws
   * VouchError `unavailable`, naming the servers, while some are away.
   */
  settle(project: string, keyId: string): Promise<void>;
  /** Notes that what is left of a shredded key is useless, since every master key over it is destroyed. `settle` then resolves. */
  writeOff(project: string, keyId: string): Promise<void>;
  /** All entries. Damaged ones are reported to `onDamage` and stay unchanged. */
  list(onDamage: (project: string, keyId: string) => void): AsyncIterable<StoredVaultEntry>;
  /**
   * Verifies every entry in the background, in a standalone node. In a cluster it does nothing, since each process would read the
   * whole vault. Calls `rest` with the number of entries since the last call, and waits for it.
   */
  inspect(onDamage: (project: string, keyId: string) => void, rest: (entries: number) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/**
 * Removes collections from an entry's pending ones: their logs now record the shred, or are gone. Resolves to the collections that
 * are still pending.
 */
export async function strikeOff(
  vault: VaultStore,
  project: string,
  keyId: string,
  collectionIds: readonly number[],
): Promise<readonly number[]> {
  for (;;) {
    const stored = await vault.get(project, keyId);
    if (stored === undefined) return [];
    const pendingIds = stored.entry.pendingIds.filter((id) => !collectionIds.includes(id));
    if (pendingIds.length === stored.entry.pendingIds.length) return pendingIds;
    if ((await vault.replace(stored, { ...stored.entry, pendingIds })) !== undefined) return pendingIds;
  }
}
