/**
 * Data keys: made, wrapped into the vault, and unwrapped for one use at a time. Nothing here remembers a data key, so none
 * outlives its entry: what is shredded in the vault is gone.
 *
 * A key that is made or used while the master key is rotated could be left under the old one, and be lost with it. So,
 * before anything is encrypted under a key, the mark (see `masterMark.ts`) is read once more, when the key's entry is durable:
 * if it still names the key's master, a rotation has not begun to look through the vault yet, and will find the entry.
 */
import { type Entropy, systemEntropy } from '../../shared/clock.js';
import { messageOf, VouchError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { orDamaged } from '../../shared/vault/entryName.js';
import { forget, type StoredVaultEntry, type VaultEntry, type VaultStore } from '../../shared/vault/vaultStore.js';
import { MasterKeyFileError } from './masterKeyFile.js';
import { MasterKeys } from './masterKeys.js';
import { MARK, masterOf } from './masterMark.js';
import { decrypt, encrypt, type Sealed } from './sealed.js';
import { DATA_KEY_BYTES, type KeyName, masterIdOf, unwrapKey, wrapKey } from './wrappedKey.js';

export interface DataKeysOptions {
  readonly vault: VaultStore;
  readonly masterKeyFile: string;
  readonly logger: Logger;
  readonly entropy?: Entropy;
}

export class DataKeys {
  readonly #vault: VaultStore;
  readonly #masters: MasterKeys;
  readonly #logger: Logger;
  readonly #entropy: Entropy;

  private constructor({ vault, masterKeyFile, logger, entropy = systemEntropy }: DataKeysOptions) {
    this.#vault = vault;
    this.#masters = new MasterKeys(masterKeyFile, entropy);
    this.#logger = logger;
    this.#entropy = entropy;
  }

  /**
   * Makes the master key file where the vault is empty and there is none. Where the file is not the one that the vault needs
   * it says so in the log, and every use fails until it is.
   */
  static async open(options: DataKeysOptions): Promise<DataKeys> {
    const keys = new DataKeys(options);
    await keys.#inForce().catch((error: unknown) => {
      options.logger.error({ error: messageOf(error) }, 'encrypted records cannot be written or read');
    });
    return keys;
  }

  /**
   * Makes a data key and its entry. Undefined where there is an entry already, or it was shredded at once: read it. Throws
   * VouchError `unavailable`, and `internal_error` where the master key that is in force is not held here.
   */
  async create(name: KeyName, collectionIds: readonly number[]): Promise<StoredVaultEntry | undefined> {
    const dataKey = this.#entropy(DATA_KEY_BYTES);
    try {
      const wrapped = await this.#wrap(name, dataKey, await this.#inForce());
      const entry: VaultEntry = { status: 'active', wrapped, collectionIds, pendingIds: [] };
      const revision = await this.#vault.create(name.project, name.keyId, entry);
      if (revision === undefined) {
        wrapped.fill(0);
        return undefined;
      }
      return await this.#settle({ ...name, entry, revision }, (_, masterId) => this.#wrap(name, dataKey, masterId));
    } finally {
      dataKey.fill(0);
    }
  }

  /** Throws VouchError `record_shredded` where the entry has no key any more, `internal_error` where it cannot be opened. */
  async encrypt(stored: StoredVaultEntry, plaintext: Uint8Array, aad: Uint8Array): Promise<Sealed> {
    const settled = await this.#settle(stored, (found, masterId) => this.#wrapAnew(found, masterId));
    if (settled === undefined) throw shreddedKey(stored);
    try {
      return await this.#withKey(settled, (dataKey) => encrypt(plaintext, dataKey, aad, this.#entropy));
    } finally {
      if (settled !== stored) forget(settled);
    }
  }

  /** Throws as `encrypt` does, and `internal_error` where what is sealed does not verify. */
  async decrypt(stored: StoredVaultEntry, sealed: Sealed, aad: Uint8Array): Promise<Buffer> {
    const master = masterOf(stored);
    const isHeld = master === undefined || (await this.#fromFile((masters) => masters.has(master)));
    // A rotation may have been over it since it was read.
    const found = isHeld ? stored : ((await this.#vault.get(stored.project, stored.keyId)) ?? stored);
    try {
      return await this.#withKey(found, (dataKey) => decrypt(sealed, dataKey, aad));
    } finally {
      if (found !== stored) forget(found);
    }
  }

  /**
   * Whether the entry's key can be unwrapped; `elsewhere`, where this machine does not hold its master key, or cannot read the
   * file of it, so that nothing can be said.
   */
  async check(stored: StoredVaultEntry): Promise<'opens' | 'damaged' | 'elsewhere'> {
    // A rotation may have been over it since it was read.
    const isHeld = await this.#holdsMasterOf(stored);
    const found = isHeld ? stored : await this.#vault.get(stored.project, stored.keyId);
    if (found === undefined || !(isHeld || (await this.#holdsMasterOf(found)))) return 'elsewhere';
    if (found.entry.wrapped === null) return 'opens';
    try {
      return await this.#withKey(found, () => 'opens' as const).catch(orDamaged);
    } finally {
      if (found !== stored) forget(found);
    }
  }

  /** Why keys cannot be made or opened on this machine, now or after a restart; undefined where they can. Throws `unavailable`. */
  async problem(): Promise<string | undefined> {
    try {
      const id = await this.#inForce();
      const mark = await this.#vault.get(MARK.project, MARK.keyId);
      if (mark !== undefined && (await this.check(mark)) === 'damaged')
        return 'the master entry of the vault does not open';
      const isInFile = await this.#fromFile((masters) => masters.inFile(id));
      return isInFile ? undefined : `the master key file of this machine does not hold master key ${id}`;
    } catch (error) {
      orDamaged(error);
      return messageOf(error);
    }
  }

  /** Puts the entry's key under another master key that is held. False where the entry was changed meanwhile. */
  async rewrap(stored: StoredVaultEntry, masterId: string): Promise<boolean> {
    const wrapped = await this.#wrapAnew(stored, masterId);
    try {
      return (await this.#vault.replace(stored, { ...stored.entry, wrapped })) !== undefined;
    } finally {
      wrapped.fill(0);
    }
  }

  /** Forgets the master keys. */
  close(): void {
    this.#masters.close();
  }

  /**
   * The entry, once its key is under the master key in force; `wrap` gives its data key under another. Undefined where it is
   * shredded.
   */
  async #settle(
    stored: StoredVaultEntry,
    wrap: (found: StoredVaultEntry, masterId: string) => Promise<Uint8Array>,
  ): Promise<StoredVaultEntry | undefined> {
    let read = stored;
    for (;;) {
      const used = masterOf(read);
      const inForce = await this.#inForce();
      if (used === undefined || used === inForce) return used === undefined ? undefined : read;
      // As it is now: whoever has replaced it, its data key stays the same until it is shredded.
      const found = await this.#vault.get(stored.project, stored.keyId);
      if (found === undefined) return undefined;
      if (masterOf(found) === used)
        await this.#vault.replace(found, { ...found.entry, wrapped: await wrap(found, inForce) });
      read = (await this.#vault.get(stored.project, stored.keyId)) ?? found;
    }
  }

  async #wrapAnew(stored: StoredVaultEntry, masterId: string): Promise<Uint8Array> {
    const dataKey = await this.#withKey(stored, (key) => Uint8Array.from(key));
    try {
      return await this.#wrap(stored, dataKey, masterId);
    } finally {
      dataKey.fill(0);
    }
  }

  async #withKey<T>(stored: StoredVaultEntry, use: (dataKey: Uint8Array) => T): Promise<T> {
    const { wrapped } = stored.entry;
    if (wrapped === null) throw shreddedKey(stored);
    return this.#withMaster(masterIdOf(wrapped, stored), (masters, id) =>
      masters.use(id, (master) => {
        const dataKey = unwrapKey(master, wrapped, stored);
        try {
          return use(dataKey);
        } finally {
          dataKey.fill(0);
        }
      }),
    );
  }

  async #wrapFresh(name: KeyName, masterId: string): Promise<Uint8Array> {
    const dataKey = this.#entropy(DATA_KEY_BYTES);
    try {
      return await this.#wrap(name, dataKey, masterId);
    } finally {
      dataKey.fill(0);
    }
  }

  #wrap(name: KeyName, dataKey: Uint8Array, masterId: string): Promise<Uint8Array> {
    return this.#withMaster(masterId, (masters, id) =>
      masters.use(id, (master) => wrapKey(master, dataKey, name, this.#entropy)),
    );
  }

  /** The id of the master key that new data keys go under, as the vault has it at this moment; it is held here. */
  async #inForce(): Promise<string> {
    const mark = await this.#vault.get(MARK.project, MARK.keyId);
    const id = mark === undefined ? await this.#first() : masterOf(mark);
    if (id === undefined) throw new VouchError('internal_error', 'the vault does not say which master key is in force');
    return this.#withMaster(id, async (masters) => ((await masters.has(id)) ? id : undefined));
  }

  /** Of an empty vault: the key of this machine's file, which is made where it is not there. */
  async #first(): Promise<string | undefined> {
    const used = await this.#masterInUse();
    const id = used ?? (await this.#fromFile((masters) => masters.newestOrFirst()));
    if (used === undefined)
      this.#logger.info({ file: this.#masters.path }, 'the master key is in this file; keep a copy of it');
    const wrapped = await this.#wrapFresh(MARK, id);
    const entry: VaultEntry = { status: 'active', wrapped, collectionIds: [], pendingIds: [] };
    if ((await this.#vault.create(MARK.project, MARK.keyId, entry)) !== undefined) return id;
    const mark = await this.#vault.get(MARK.project, MARK.keyId);
    return mark && masterOf(mark);
  }

  /** A vault that has lost its mark still tells by its entries. */
  async #masterInUse(): Promise<string | undefined> {
    for await (const stored of this.#vault.list(() => undefined)) {
      const id = masterOf(stored);
      if (id !== undefined) return id;
    }
    return undefined;
  }

  async #withMaster<T>(id: string, use: (masters: MasterKeys, id: string) => Promise<T | undefined>): Promise<T> {
    const result = await this.#fromFile((masters) => use(masters, id));
    if (result !== undefined) return result;
    this.#logger.error(
      { file: this.#masters.path, masterKey: id },
      'the master key file does not hold the key that the vault needs',
    );
    throw new VouchError(
      'internal_error',
      `this machine does not hold master key ${id}; copy the master key file of the other machines, or a backup of it`,
    );
  }

  /** False too where the file cannot be read, or the wrapped key is of a later version. */
  async #holdsMasterOf(stored: StoredVaultEntry): Promise<boolean> {
    try {
      const master = masterOf(stored);
      return master === undefined || (await this.#masters.has(master));
    } catch (error) {
      return error instanceof MasterKeyFileError ? false : orDamaged(error) !== 'damaged';
    }
  }

  /** Callers are not told where files are; the log is. */
  async #fromFile<T>(work: (masters: MasterKeys) => Promise<T>): Promise<T> {
    try {
      return await work(this.#masters);
    } catch (error) {
      if (!(error instanceof MasterKeyFileError)) throw error;
      this.#logger.error({ error: error.message }, 'the master key file cannot be used');
      throw new VouchError('internal_error', 'the master key of this machine cannot be used', { cause: error });
    }
  }
}

const shreddedKey = ({ keyId }: KeyName): VouchError =>
  new VouchError('record_shredded', `the key ${keyId} is shredded`);
