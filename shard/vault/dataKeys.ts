/**
 * Makes data keys, wraps them into the vault, and unwraps them for one use at a time. It keeps no data key in memory, so
 * none outlives its entry: a key that is shredded in the vault is gone. Only the keys of contents that are in memory too
 * are kept beside them; see `contentKeys.ts`.
 *
 * A key that is made or used during a rotation of the master key could stay under the old one, and be lost with it. So
 * the master entry (see `wrappedKey.ts`) is read again once the key's entry is durable, before a payload is encrypted under the
 * key. If it still names the key's master, the rotation has yet to read the vault, and will find the entry.
 */
import { type Entropy, systemEntropy } from '../../shared/clock.js';
import { messageOf, refusal, unavailable, VouchError } from '../../shared/errors/errors.js';
import { isOfSystem } from '../../shared/files/durable.js';
import type { Logger } from '../../shared/logger.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { type EntryName, orDamaged } from '../../shared/vault/entryName.js';
import { forget, type StoredVaultEntry, type VaultEntry, type VaultStore } from '../../shared/vault/vaultStore.js';
import { type MasterKey, MasterKeyFileError } from './masterKeyFile.js';
import { MasterKeys } from './masterKeys.js';
import { decrypt, type Encrypted, encrypt } from './payloadCipher.js';
import { DATA_KEY_BYTES, MASTER_ENTRY, masterIdOf, masterOf, privateCopy, unwrapKey, wrapKey } from './wrappedKey.js';

/** Entries of the vault that are made at once. */
const CREATED_AT_ONCE = 64;

export class DataKeys {
  private constructor(
    private readonly vault: VaultStore,
    private readonly masters: MasterKeys,
    private readonly logger: Logger,
    private readonly entropy: Entropy,
  ) {}

  /**
   * Makes the master key file if the vault is empty and the file is missing. If a file lacks the key that the vault
   * needs, that is logged, and every use fails until the file is replaced.
   */
  static async open({
    vault,
    masterKeyFile,
    logger,
    entropy = systemEntropy,
  }: {
    readonly vault: VaultStore;
    readonly masterKeyFile: string;
    readonly logger: Logger;
    readonly entropy?: Entropy;
  }): Promise<DataKeys> {
    const keys = new DataKeys(vault, new MasterKeys(masterKeyFile, entropy), logger, entropy);
    await keys
      .#inForce()
      .catch((error: unknown) =>
        logger.error({ error: messageOf(error) }, 'encrypted records cannot be written or read'),
      );
    return keys;
  }

  /**
   * Makes data keys and their entries, and reads the master entry twice in all. Returns undefined for an entry that exists, or was
   * shredded at once: then the caller reads it. Throws VouchError `unavailable`, and `internal_error` if this machine
   * lacks the current master key.
   */
  async create(
    names: readonly EntryName[],
    collectionIds: readonly number[],
  ): Promise<(StoredVaultEntry | undefined)[]> {
    const named = names.map((name) => ({ name, dataKey: this.entropy(DATA_KEY_BYTES) }));
    try {
      const inForce = await this.#inForce();
      const made = await mapConcurrent(named, CREATED_AT_ONCE, async (one) => {
        return { ...one, stored: await this.#entered(one, inForce, collectionIds) };
      });
      if (inForce === (await this.#inForce())) return made.map(({ stored }) => stored);
      return await mapConcurrent(made, CREATED_AT_ONCE, async ({ name, dataKey, stored }) => {
        return stored && this.#underMasterInForce(stored, (_, masterId) => this.#wrap(name, dataKey, masterId));
      });
    } finally {
      for (const { dataKey } of named) dataKey.fill(0);
    }
  }

  async #entered(
    { name, dataKey }: { readonly name: EntryName; readonly dataKey: Uint8Array },
    masterId: string,
    collectionIds: readonly number[],
  ): Promise<StoredVaultEntry | undefined> {
    const wrapped = await this.#wrap(name, dataKey, masterId);
    const entry: VaultEntry = { status: 'active', wrapped, collectionIds, pendingIds: [] };
    const revision = await this.vault.create(name.project, name.keyId, entry);
    if (revision !== undefined) return { ...name, entry, revision };
    wrapped.fill(0);
    return undefined;
  }

  /**
   * Encrypts. Throws VouchError `record_shredded` if the entry's key is shredded, `internal_error` if it cannot be
   * opened.
   */
  async encrypt(stored: StoredVaultEntry, plaintext: Uint8Array, associated: Uint8Array): Promise<Encrypted> {
    return this.#writing(stored, (bytes) => encrypt(plaintext, { bytes, associated }, this.entropy));
  }

  /** Decrypts. Throws like `encrypt`, and `internal_error` if the payload does not verify. */
  async decrypt(stored: StoredVaultEntry, encrypted: Encrypted, associated: Uint8Array): Promise<Buffer> {
    return this.#reading(stored, (bytes) => decrypt(encrypted, { bytes, associated }));
  }

  /** Returns the key, which the caller overwrites after its last use. Throws like `encrypt`. */
  async dataKey(stored: StoredVaultEntry): Promise<Uint8Array> {
    return this.#reading(stored, privateCopy);
  }

  /** Returns the key once it is under the current master key; see above. Throws like `encrypt`. */
  async dataKeyToWrite(stored: StoredVaultEntry): Promise<Uint8Array> {
    return this.#writing(stored, privateCopy);
  }

  /**
   * Whether the entry's key can be unwrapped; `elsewhere` if its master key is not on this machine, or not readable.
   */
  async check(stored: StoredVaultEntry): Promise<'opens' | 'damaged' | 'elsewhere'> {
    // A rotation may have replaced the entry since it was read.
    const isPresent = await this.#hasMasterOf(stored);
    const found = isPresent ? stored : await this.vault.get(stored.project, stored.keyId);
    if (found === undefined || !(isPresent || (await this.#hasMasterOf(found)))) return 'elsewhere';
    if (found.entry.wrapped === null) return 'opens';
    try {
      return await this.#withKey(found, () => 'opens' as const).catch(orDamaged);
    } finally {
      if (found !== stored) forget(found);
    }
  }

  /** Why keys cannot be used on this machine, now or after a restart; undefined if they can. Throws `unavailable`. */
  async problem(): Promise<string | undefined> {
    try {
      const id = await this.#inForce();
      const masterEntry = await this.vault.get(MASTER_ENTRY.project, MASTER_ENTRY.keyId);
      if (masterEntry !== undefined && (await this.check(masterEntry)) === 'damaged')
        return 'the master entry of the vault does not open';
      const isInFile = await this.#fromFile(() => this.masters.inFile(id));
      return isInFile ? undefined : `the master key file of this machine does not contain master key ${id}`;
    } catch (error) {
      orDamaged(error);
      return messageOf(error);
    }
  }

  /** Wraps the entry's key under another master key of this machine. Returns false if the entry has changed. */
  async rewrap(stored: StoredVaultEntry, masterId: string): Promise<boolean> {
    const wrapped = await this.#rewrapped(stored, masterId);
    try {
      return (await this.vault.replace(stored, { ...stored.entry, wrapped })) !== undefined;
    } finally {
      wrapped.fill(0);
    }
  }

  close(): void {
    this.masters.close();
  }

  /**
   * Returns the entry once its key is under the current master key, wrapped again by `wrap` if necessary; undefined if
   * it is shredded.
   */
  async #underMasterInForce(
    stored: StoredVaultEntry,
    wrap: (found: StoredVaultEntry, masterId: string) => Promise<Uint8Array>,
  ): Promise<StoredVaultEntry | undefined> {
    let read = stored;
    for (;;) {
      const used = masterOf(read);
      const inForce = await this.#inForce();
      if (used === undefined || used === inForce) return used === undefined ? undefined : read;
      // Read the newest entry: its data key stays the same until it is shredded.
      const found = await this.vault.get(stored.project, stored.keyId);
      if (found === undefined) return undefined;
      if (masterOf(found) === used)
        await this.vault.replace(found, { ...found.entry, wrapped: await wrap(found, inForce) });
      read = (await this.vault.get(stored.project, stored.keyId)) ?? found;
    }
  }

  async #rewrapped(stored: StoredVaultEntry, masterId: string): Promise<Uint8Array> {
    const dataKey = await this.#withKey(stored, (key) => Uint8Array.from(key));
    try {
      return await this.#wrap(stored, dataKey, masterId);
    } finally {
      dataKey.fill(0);
    }
  }

  /** Uses the key of an entry once it is under the current master key. */
  async #writing<T>(stored: StoredVaultEntry, use: (dataKey: Uint8Array) => T): Promise<T> {
    const settled = await this.#underMasterInForce(stored, (found, masterId) => this.#rewrapped(found, masterId));
    if (settled === undefined) throw shreddedKey(stored);
    try {
      return await this.#withKey(settled, use);
    } finally {
      if (settled !== stored) forget(settled);
    }
  }

  /** Uses the key of an entry that a rotation may have replaced since it was read. */
  async #reading<T>(stored: StoredVaultEntry, use: (dataKey: Uint8Array) => T): Promise<T> {
    const master = masterOf(stored);
    const isPresent = master === undefined || (await this.#fromFile(() => this.masters.has(master)));
    const found = isPresent ? stored : ((await this.vault.get(stored.project, stored.keyId)) ?? stored);
    try {
      return await this.#withKey(found, use);
    } finally {
      if (found !== stored) forget(found);
    }
  }

  async #withKey<T>(stored: StoredVaultEntry, use: (dataKey: Uint8Array) => T): Promise<T> {
    const { wrapped } = stored.entry;
    if (wrapped === null) throw shreddedKey(stored);
    return this.#withMaster(masterIdOf(wrapped, stored), (master) => {
      const dataKey = unwrapKey(master, wrapped, stored);
      try {
        return use(dataKey);
      } finally {
        dataKey.fill(0);
      }
    });
  }

  #wrap(name: EntryName, dataKey: Uint8Array, masterId: string): Promise<Uint8Array> {
    return this.#withMaster(masterId, (master) => wrapKey(master, dataKey, name, this.entropy));
  }

  /** Returns the id of the current master key, which new data keys go under. This machine has it. */
  async #inForce(): Promise<string> {
    const masterEntry = await this.vault.get(MASTER_ENTRY.project, MASTER_ENTRY.keyId);
    const id = masterEntry === undefined ? await this.#first() : masterOf(masterEntry);
    if (id === undefined) throw new VouchError('internal_error', 'the vault does not say which master key is in force');
    return this.#withMaster(id, () => id);
  }

  /** Makes the master entry of an empty vault, with the key of this machine's file, which is made if it is missing. */
  async #first(): Promise<string | undefined> {
    const used = await this.#masterInUse();
    const id = used ?? (await this.#fromFile(() => this.masters.newestOrFirst()));
    if (used === undefined)
      this.logger.info({ file: this.masters.path }, 'the master key is in this file; keep a copy of it');
    const dataKey = this.entropy(DATA_KEY_BYTES);
    const wrapped = await this.#wrap(MASTER_ENTRY, dataKey, id).finally(() => dataKey.fill(0));
    const entry: VaultEntry = { status: 'active', wrapped, collectionIds: [], pendingIds: [] };
    if ((await this.vault.create(MASTER_ENTRY.project, MASTER_ENTRY.keyId, entry)) !== undefined) return id;
    const masterEntry = await this.vault.get(MASTER_ENTRY.project, MASTER_ENTRY.keyId);
    return masterEntry && masterOf(masterEntry);
  }

  /** Returns the master key of any entry, for a vault that has lost its master entry. */
  async #masterInUse(): Promise<string | undefined> {
    for await (const stored of this.vault.list(() => undefined)) {
      const id = masterOf(stored);
      if (id !== undefined) return id;
    }
    return undefined;
  }

  async #withMaster<T>(id: string, use: (master: MasterKey) => T): Promise<T> {
    const result = await this.#fromFile(() => this.masters.use(id, use));
    if (result !== undefined) return result;
    this.logger.error(
      { file: this.masters.path, masterKey: id },
      'the master key file does not contain the key that the vault needs',
    );
    throw new VouchError(
      'internal_error',
      `this machine does not have master key ${id}; copy the master key file of the other machines, or a backup of it`,
    );
  }

  /** Returns false if the file cannot be read, or the wrapped key is of a later version. */
  async #hasMasterOf(stored: StoredVaultEntry): Promise<boolean> {
    try {
      const master = masterOf(stored);
      return master === undefined || (await this.masters.has(master));
    } catch (error) {
      return error instanceof MasterKeyFileError ? false : orDamaged(error) !== 'damaged';
    }
  }

  /** Reports a problem with the file. The path goes to the log and not to callers. */
  async #fromFile<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof MasterKeyFileError)) throw error;
      this.logger.error({ error: error.message }, 'the master key file cannot be used');
      if (isOfSystem(error.cause)) throw unavailable('the master key of this machine cannot be read', error);
      throw new VouchError('internal_error', 'the master key of this machine cannot be used', { cause: error });
    }
  }
}

const shreddedKey = ({ keyId }: EntryName): VouchError => refusal('record_shredded', 'key', { key: keyId });
