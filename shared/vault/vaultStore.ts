/**
 * Where wrapped data keys are kept: apart from every log, because they must be erasable. Knows no master key and no
 * plaintext key.
 */

/** A wrapped key, or what is left of a shredded one. */
export interface VaultEntry {
  readonly status: 'active' | 'shredded';
  /** The data key under the master key; null once it is shredded. */
  readonly wrapped: Uint8Array | null;
  /** Collections that may hold records under the key: entered before the first such record is committed. */
  readonly collectionIds: readonly number[];
  /** Collections whose log does not state yet that the key is shredded. Empty while it is active. */
  readonly pendingIds: readonly number[];
}

export interface StoredVaultEntry {
  readonly project: string;
  /** 32 lowercase hex. */
  readonly keyId: string;
  readonly entry: VaultEntry;
  /** What `replace` is to replace; opaque. */
  readonly revision: number;
}

/**
 * Overwrites this copy of the wrapped key. Whoever was given an entry does so when it is done with it, so that no copy in the
 * memory of a process outlives a shred.
 */
export const forget = (stored: StoredVaultEntry | undefined): void => {
  stored?.entry.wrapped?.fill(0);
};

/** Key ids belong to a project. Every call throws VouchError `unavailable` where the store cannot be reached in time. */
export interface VaultStore {
  /** The newest, whoever wrote it. Throws VouchError `internal_error`, naming the key id, where what is stored does not verify. */
  get(project: string, keyId: string): Promise<StoredVaultEntry | undefined>;
  /** Resolves, when it is durable, with its revision; undefined where there is an entry already. */
  create(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined>;
  /**
   * Replaces the entry with this revision; undefined, with nothing done, where another has come in between. When it
   * resolves, the new entry is durable and no byte of the old one is left in the store, unless part of that is away: then
   * `settle` says so. Cut short by a crash, either the old entry or the new one is there; what is left of the old one is
   * erased when the store is opened next, before anything is answered.
   */
  replace(stored: StoredVaultEntry, entry: VaultEntry): Promise<number | undefined>;
  /**
   * As `replace`, of an entry that does not verify, by one without a key; undefined, with nothing done, where there is none
   * or it does verify.
   */
  replaceDamaged(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined>;
  /**
   * Resolves when the newest entry is wherever it has to be, and **no byte of a key that it has replaced is left** anywhere.
   * Throws VouchError `unavailable`, naming the servers, where that cannot be said since some are away.
   */
  settle(project: string, keyId: string): Promise<void>;
  /** Every entry there is. Damaged ones are passed to `onDamage` and left as they are. */
  list(onDamage: (project: string, keyId: string) => void): AsyncIterable<StoredVaultEntry>;
  /**
   * Reads every entry, at leisure, where this process holds the store itself, and tells of those that do not verify. Does
   * nothing where others hold it: there it would cost each process that asks the whole vault. `rest` is awaited after some.
   */
  inspect(onDamage: (project: string, keyId: string) => void, rest: (entries: number) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}
