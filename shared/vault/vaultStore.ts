/** The store of wrapped data keys: apart from every log, because they must be erasable. It knows no plaintext key. */
import type { EntryName } from './entryName.js';

/** A wrapped key, or the remains of a shredded one. */
export interface VaultEntry {
  readonly status: 'active' | 'shredded';
  /** The data key under the master key; null once it is shredded. */
  readonly wrapped: Uint8Array | null;
  /** Collections that may hold records under the key: listed before the first such record is committed. */
  readonly collectionIds: readonly number[];
  /** Collections whose log does not state yet that the key is shredded. Empty while it is active. */
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

/** Key ids belong to a project. Every call throws VouchError `unavailable` where the store cannot be reached in time. */
export interface VaultStore {
  /** The newest entry. Throws VouchError `internal_error`, naming the key id, where it does not verify. */
  get(project: string, keyId: string): Promise<StoredVaultEntry | undefined>;
  /** Resolves with its revision when it is durable; undefined where there is an entry already. */
  create(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined>;
  /**
   * Replaces the entry with this revision; undefined, with nothing done, where another one is stored. When it resolves, the
   * new entry is durable and no byte of the old one is left in the store, unless part of that is away: then `settle` says
   * so. After a crash either the old entry or the new one is there; the rest of the old one is erased when the store is
   * opened next, before it answers.
   */
  replace(stored: StoredVaultEntry, entry: VaultEntry): Promise<number | undefined>;
  /** Replaces an entry that does not verify by one without a key; undefined where there is no such entry. */
  replaceDamaged(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined>;
  /**
   * Resolves when the newest entry is on every server, and **no byte of a key that it has replaced is left** anywhere.
   * Throws VouchError `unavailable`, naming the servers, while some are away.
   */
  settle(project: string, keyId: string): Promise<void>;
  /** All entries. Damaged ones are passed to `onDamage` and left as they are. */
  list(onDamage: (project: string, keyId: string) => void): AsyncIterable<StoredVaultEntry>;
  /**
   * Verifies every entry in the background, where this process holds the store itself: each process of a cluster would
   * read the whole vault, so it does nothing there. `rest` is awaited after some entries.
   */
  inspect(onDamage: (project: string, keyId: string) => void, rest: (entries: number) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/**
 * Removes collections from an entry's pending ones: their logs now state that the key is shredded, or are gone. Resolves to
 * those that are still pending.
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
