/**
 * Encrypts and decrypts the payloads of encrypted records, each under the data key of its key id. Provides the data keys of
 * contents. The cipher is AES-256-GCM with a fresh nonce. The associated data is the u64 collection id of the genesis ‖ key id.
 *
 * A shred is final, also during an insert:
 *
 * ```text
 * Insert:  list the collection in the key's entry ──▶ commit the record
 * Shred:   destroy the key ──▶ commit the shred in each listed collection
 * ```
 *
 * If the record is committed before the shred, it is lost with the others. After the shred, the collection refuses it.
 */
import type { Clock, Entropy } from '../../shared/clock.js';
import { EntropyPool } from '../../shared/entropyPool.js';
import { messageOf, refusal, unavailable, VouchError } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { KEY_ID_BYTES } from '../../shared/limits.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { unlessUnavailable } from '../../shared/vault/entryName.js';
import type { ShredNotes } from '../../shared/vault/shredNotes.js';
import { forget, type StoredVaultEntry, type VaultStore } from '../../shared/vault/vaultStore.js';
import { shredded } from '../state/refusals.js';
import { associatedData } from './associatedData.js';
import type { DataKeys } from './dataKeys.js';
import type { Encrypted } from './payloadCipher.js';

/** Entries of the vault that are read at once. */
const READ_AT_ONCE = 32;

/** The collection for which a payload is encrypted. */
export interface PayloadTarget {
  readonly project: string;
  readonly collectionId: number;
  /** Id in the genesis event. An imported collection keeps it, so its records stay readable. */
  readonly genesisId: number;
}

interface EncryptedPayload extends Encrypted {
  /** 32 lowercase hex digits. */
  readonly keyId: string;
}

interface EncryptOptions {
  /** Null for a fresh key. */
  readonly keyId: string | null;
  /** True if the collection has records under the key: a new key with that id would not open them. */
  readonly mustExist: boolean;
  readonly deadlineMs: number;
}

/** A data key, whose bytes the receiver owns. */
export interface ProvidedKey {
  readonly keyId: string;
  readonly dataKey: Uint8Array;
}

/** Thrown if the vault entry of a key does not verify. */
export class KeyDamaged extends VouchError {
  constructor(cause: unknown) {
    super('internal_error', messageOf(cause), { cause });
  }
}

export class RecordVault {
  /** Nonces and salts of contents. */
  readonly random: EntropyPool;

  constructor(
    private readonly store: VaultStore,
    private readonly notes: Pick<ShredNotes, 'set'>,
    private readonly keys: Pick<DataKeys, 'create' | 'encrypt' | 'decrypt' | 'check' | 'dataKey' | 'dataKeyToWrite'>,
    private readonly by: { readonly clock: Clock; readonly entropy: Entropy },
  ) {
    this.random = new EntropyPool(by.entropy);
  }

  /**
   * Encrypts a payload, and makes the key if it is missing. The entry then lists the collection. Throws KeyDamaged, and
   * VouchError `validation_error` if the key is shredded, `internal_error` if a required key is missing or unusable.
   */
  async encrypt(target: PayloadTarget, payload: Uint8Array, options: EncryptOptions): Promise<EncryptedPayload> {
    const stored = await this.#entryFor(target, options);
    const { keyId } = stored;
    try {
      return { keyId, ...(await this.keys.encrypt(stored, payload, associatedData(target.genesisId, keyId))) };
    } catch (error) {
      // The key was shredded after its entry was read, during a rotation.
      throw error instanceof VouchError && error.code === 'record_shredded' ? shredded(keyId) : error;
    } finally {
      forget(stored);
    }
  }

  /**
   * Decrypts a payload. Throws KeyDamaged, and VouchError `record_shredded`, `internal_error` if the key does not open
   * it.
   */
  async decrypt(target: PayloadTarget, { keyId, nonce, ciphertext }: EncryptedPayload): Promise<Uint8Array> {
    const stored = await this.#stored(target.project, keyId);
    if (stored === undefined) throw keyMissing(target, keyId);
    if (stored.entry.status === 'shredded') throw recordShredded(keyId);
    try {
      return await this.keys.decrypt(stored, { nonce, ciphertext }, associatedData(target.genesisId, keyId));
    } catch (error) {
      if (!(error instanceof VouchError) || error.code !== 'internal_error') throw error;
      const message = `collection ${target.collectionId}, key ${keyId}: ${error.message}`;
      throw new VouchError('internal_error', message, { cause: error });
    } finally {
      forget(stored);
    }
  }

  /**
   * Returns the data key for contents of the collection, and makes it if it is missing. Throws like `encrypt`. The caller owns
   * the bytes.
   */
  async provide(target: PayloadTarget, options: EncryptOptions): Promise<ProvidedKey> {
    const stored = await this.#entryFor(target, options);
    const { keyId } = stored;
    try {
      return { keyId, dataKey: await this.keys.dataKeyToWrite(stored) };
    } catch (error) {
      throw error instanceof VouchError && error.code === 'record_shredded' ? shredded(keyId) : error;
    } finally {
      forget(stored);
    }
  }

  /** Makes `count` data keys for contents of the collection. Throws `unavailable` and `internal_error`, like `encrypt`. */
  async provideFresh({ project, collectionId }: PayloadTarget, count: number): Promise<ProvidedKey[]> {
    const names = Array.from({ length: count }, () => ({ project, keyId: toHex(this.by.entropy(KEY_ID_BYTES)) }));
    const made = await this.keys.create(names, [collectionId]);
    const keys = await allOrNone(made, async (stored) => {
      if (stored === undefined) throw unavailable('a fresh vault key could not be used; retry shortly');
      return this.keys.dataKey(stored).finally(() => forget(stored));
    });
    return keys.map((dataKey, at) => ({ keyId: names[at]!.keyId, dataKey }));
  }

  /**
   * Returns the data keys of contents of the collection; null for one that is shredded, or that the vault does not have.
   * Throws KeyDamaged, `internal_error` without the master key, and `unavailable`. The caller owns the bytes.
   */
  dataKeys({ project }: PayloadTarget, keyIds: readonly string[]): Promise<(Uint8Array | null)[]> {
    return allOrNone(keyIds, async (keyId) => {
      const stored = await this.#stored(project, keyId);
      try {
        if (stored === undefined || stored.entry.status === 'shredded') return null;
        return await this.keys.dataKey(stored);
      } catch (error) {
        // It was shredded after its entry was read.
        if (error instanceof VouchError && error.code === 'record_shredded') return null;
        throw error;
      } finally {
        forget(stored);
      }
    });
  }

  /**
   * Reads and opens the key's entry, and completes it on every server. Returns false if the entry is missing, or if
   * this machine lacks its master key, which is not damage. Throws KeyDamaged, and `unavailable`.
   */
  async check({ project }: PayloadTarget, keyId: string): Promise<boolean> {
    const stored = await this.#stored(project, keyId);
    if (stored === undefined) return false;
    if (stored.entry.status === 'shredded') return true;
    const found = await this.keys.check(stored).finally(() => forget(stored));
    if (found === 'damaged') throw new KeyDamaged(new Error(`the wrapped key ${keyId} does not verify`));
    if (found === 'elsewhere') return false;
    // Unavailable servers get their part later.
    await this.store.settle(project, keyId).catch(unlessUnavailable);
    return true;
  }

  /**
   * Lists a collection that imports records under the key in the key's entry, if there is one, so that a shred reaches
   * it. If the key is already shredded, the collection's log has yet to state it.
   */
  async enter({ project, collectionId }: PayloadTarget, keyId: string, deadlineMs: number): Promise<void> {
    while (this.by.clock.nowMs() <= deadlineMs) {
      const stored = await this.#stored(project, keyId);
      if (stored === undefined || stored.entry.collectionIds.includes(collectionId)) return forget(stored);
      const { entry } = stored;
      const isShredded = entry.status === 'shredded';
      const pendingIds = isShredded ? [...entry.pendingIds, collectionId] : entry.pendingIds;
      const listed = { ...entry, collectionIds: [...entry.collectionIds, collectionId], pendingIds };
      // Set the note before, so that a crash leaves no pending collection without a note, and after, since a shred may
      // clear it.
      if (isShredded) await this.notes.set(project, keyId);
      const revision = await this.store.replace(stored, listed).finally(() => forget(stored));
      if (revision !== undefined && isShredded) await this.notes.set(project, keyId);
      if (revision !== undefined) return;
    }
    throw unavailable('the deadline passed before the vault key could be used');
  }

  async #entryFor(target: PayloadTarget, { keyId, mustExist, deadlineMs }: EncryptOptions): Promise<StoredVaultEntry> {
    const { project, collectionId } = target;
    while (this.by.clock.nowMs() <= deadlineMs) {
      const name = { project, keyId: keyId ?? toHex(this.by.entropy(KEY_ID_BYTES)) };
      const stored = keyId === null ? undefined : await this.#stored(project, keyId);
      if (stored === undefined && mustExist) throw keyMissing(target, name.keyId);
      const entry = await (stored === undefined
        ? this.keys.create([name], [collectionId]).then(([made]) => made)
        : this.#listing(stored, collectionId));
      if (entry !== undefined) return entry;
      // Another write changed the entry, which may now list the collection, or be shredded.
    }
    throw unavailable('the deadline passed before the vault key could be used');
  }

  /** Returns the entry once it lists the collection; undefined if another write changed it. */
  async #listing(stored: StoredVaultEntry, collectionId: number): Promise<StoredVaultEntry | undefined> {
    const { entry, keyId } = stored;
    if (entry.status === 'shredded') throw shredded(keyId);
    if (entry.collectionIds.includes(collectionId)) return stored;
    const listed = { ...entry, collectionIds: [...entry.collectionIds, collectionId] };
    const revision = await this.store.replace(stored, listed);
    if (revision !== undefined) return { ...stored, entry: listed, revision };
    forget(stored);
    return undefined;
  }

  async #stored(project: string, keyId: string): Promise<StoredVaultEntry | undefined> {
    try {
      return await this.store.get(project, keyId);
    } catch (error) {
      throw error instanceof VouchError && error.code === 'internal_error' ? new KeyDamaged(error) : error;
    }
  }
}

/** Opens keys, a few at once. If one does not open, the others are overwritten. */
async function allOrNone<T, Key extends Uint8Array | null>(
  items: readonly T[],
  open: (item: T) => Promise<Key>,
): Promise<Key[]> {
  const opened: Key[] = [];
  try {
    return await mapConcurrent(items, READ_AT_ONCE, async (item) => {
      const key = await open(item);
      opened.push(key);
      return key;
    });
  } catch (error) {
    for (const key of opened) key?.fill(0);
    throw error;
  }
}

const keyMissing = ({ collectionId }: PayloadTarget, keyId: string): VouchError =>
  new VouchError(
    'internal_error',
    `collection ${collectionId}: its records are under key ${keyId}, which the vault does not have`,
  );

export const recordShredded = (keyId: string): VouchError => refusal('record_shredded', 'key', { key: keyId });
