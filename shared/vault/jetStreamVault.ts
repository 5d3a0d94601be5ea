/**
 * The vault in JetStream: a subject is a key, and its last message the key's entry.
 *
 * The Raft logs of several servers keep published messages for some minutes. A server that is killed while it erases a message may
 * never erase it. So the wrapped key is sealed, and the seal is outside of the stream (see `seal.ts`). An erased seal ends the key.
 *
 * ```text
 * seal put ──▶ entry published ──▶ … ──▶ entry without a key published ──▶ seal erased on every server
 * ```
 *
 * Several servers keep replaced entries. One server erases them, and a reader of an entry finishes that first.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Entropy, systemEntropy } from '../clock.js';
import { messageOf, unavailable, VouchError } from '../errors/errors.js';
import { Malformed } from '../errors/malformed.js';
import type { StoredMessage } from '../log/jetStreamMessages.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { mapConcurrent } from '../scheduling/mapConcurrent.js';
import { BACKOFF, nextDelayMs } from '../scheduling/retry.js';
import { decodeVaultEntry, encodeVaultEntry, sealPartsOf } from './entryCodec.js';
import { type EntryName, orDamaged, unlessUnavailable, vaultDamaged } from './entryName.js';
import { freshSeal, openSealed, type Seal, sealIdsIn, sealWrapped } from './seal.js';
import { openSeals } from './sealStreams.js';
import type { Seals } from './seals.js';
import { NO_MESSAGE, prepareVaultStream, VaultMessages } from './vaultMessages.js';
import type { StoredVaultEntry, VaultEntry, VaultStore } from './vaultStore.js';

const READS_AT_ONCE = 32;
const EVENED_AT_ONCE = 8;
/** Largest number of restarts of a read because the entry was replaced, for example by a rotation of the master key. */
const REPLACED_MAX = 3;

interface JetStreamVaultOptions {
  readonly connection: ClusterConnection;
  readonly replicas: number;
  readonly entropy?: Entropy;
  /** Called when a seal is on a majority of servers but not on all; the caller then repeats `settle` until it succeeds. */
  readonly onPartly?: (project: string, keyId: string) => Promise<void>;
}

/** Error of an entry that was replaced before its seal was read. */
class Replaced extends VouchError {
  constructor() {
    super('unavailable', 'the vault entry was replaced a moment ago; retry shortly');
  }
}

interface Prepared {
  readonly bytes: Uint8Array;
  /** The ids of a new seal. */
  readonly freshSeal: readonly string[] | undefined;
}

interface Written extends Pick<Prepared, 'freshSeal'> {
  readonly revision: number;
}

export class JetStreamVault implements VaultStore {
  readonly #messages: VaultMessages;
  #closed = false;

  private constructor(
    private readonly connection: ClusterConnection,
    /** Undefined if several servers have no tags. */
    private readonly seals: Seals | undefined,
    private readonly isReplicated: boolean,
    private readonly options: Required<Pick<JetStreamVaultOptions, 'entropy' | 'onPartly'>>,
  ) {
    this.#messages = new VaultMessages(connection, isReplicated);
  }

  /** Makes missing streams, and erases replaced entries that a crash has left. */
  static async open(options: JetStreamVaultOptions): Promise<JetStreamVault> {
    const { connection, entropy = systemEntropy, onPartly = async () => undefined } = options;
    // The replicas of an existing stream, which may differ from the configured number.
    const replicas = await prepareVaultStream(connection, options.replicas);
    const seals = await openSeals(connection, replicas);
    const vault = new JetStreamVault(connection, seals, replicas > 1, { entropy, onPartly });
    const names = await vault.#messages.names();
    // With several servers, replaced entries are sealed and stay.
    const replaced = replicas > 1 ? [] : names.filter(({ messages }) => messages > 1);
    await mapConcurrent(replaced, READS_AT_ONCE, (name) => vault.#listed(name).catch(orDamaged));
    if (seals !== undefined) void vault.#evenOut(seals);
    return vault;
  }

  async get(project: string, keyId: string): Promise<StoredVaultEntry | undefined> {
    for (let left = REPLACED_MAX; ; left--)
      try {
        return await this.#found({ project, keyId });
      } catch (error) {
        if (left === 0 || !(error instanceof Replaced)) throw error;
      }
  }

  async #found(name: EntryName): Promise<StoredVaultEntry | undefined> {
    this.#assertUsable();
    const [message, first] = await Promise.all([this.#current(name), this.#messages.first(name)]);
    if (message === undefined) return undefined;
    // Verified before an erasure: a damaged entry replaces no other.
    const stored = entryIn(message, name);
    if (!this.isReplicated && first !== undefined && first.position < message.position)
      await this.#eraseSeals(name, stored.entry);
    await this.#eraseBefore(message.position, name, first);
    const parts = sealPartsOf(message.bytes);
    message.bytes.fill(0);
    return parts > 0 ? this.#unsealed(stored, parts) : stored;
  }

  async create(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    return (await this.#write({ project, keyId }, entry, NO_MESSAGE))?.revision;
  }

  async replace({ project, keyId, revision }: StoredVaultEntry, entry: VaultEntry): Promise<number | undefined> {
    const name = { project, keyId };
    const written = await this.#write(name, entry, revision);
    if (written === undefined) return undefined;
    if (written.freshSeal !== undefined) await this.#completeSeal(name, written.freshSeal);
    await this.#eraseSeals(name, entry);
    await this.#eraseBefore(written.revision, name);
    return written.revision;
  }

  async replaceDamaged(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    this.#assertUsable();
    const name = { project, keyId };
    const damaged = await this.#messages.last(name);
    if (damaged === undefined || (await this.get(project, keyId).catch(orDamaged)) !== 'damaged') return undefined;
    const bytes = encodeVaultEntry({ ...name, entry, revision: damaged.position });
    const revision = await this.#messages.write(name, bytes, damaged.position);
    if (revision === undefined) return undefined;
    await this.#eraseSeals(name, entry);
    await this.#eraseBefore(revision, name);
    return revision;
  }

  async settle(project: string, keyId: string): Promise<void> {
    this.#assertUsable();
    const name = { project, keyId };
    const message = await this.#current(name);
    if (message === undefined) return;
    const { wrapped } = entryIn(message, name).entry;
    const parts = sealPartsOf(message.bytes);
    if (wrapped === null && this.isReplicated && this.seals === undefined)
      throw unavailable(
        'the key is destroyed, but not yet its copy in the Raft logs of NATS servers without server_tags',
      );
    if (wrapped === null) await this.seals?.erase(name);
    else if (parts > 0) await this.seals?.complete(name, sealIdsIn(wrapped, parts));
    await this.#eraseBefore(message.position, name);
  }

  async writeOff(project: string, keyId: string): Promise<void> {
    this.#assertUsable();
    await this.seals?.writeOff({ project, keyId });
  }

  async *list(onDamage: (project: string, keyId: string) => void): AsyncGenerator<StoredVaultEntry, void, undefined> {
    this.#assertUsable();
    const names = await this.#messages.names();
    for (let at = 0; at < names.length; at += READS_AT_ONCE) {
      const some = names.slice(at, at + READS_AT_ONCE);
      const read = await mapConcurrent(some, READS_AT_ONCE, (name) => this.#listed(name).catch(orDamaged));
      for (const [index, found] of read.entries())
        if (found !== 'damaged') yield found;
        else onDamage(some[index]!.project, some[index]!.keyId);
    }
  }

  async inspect(): Promise<void> {}

  async close(): Promise<void> {
    this.#closed = true;
  }

  /** The entry, which must exist: entries are never removed. */
  async #listed({ project, keyId }: EntryName): Promise<StoredVaultEntry> {
    const found = await this.get(project, keyId);
    if (found === undefined) throw vaultDamaged(keyId, new Error('the stream lists it and does not return it'));
    return found;
  }

  /** Undefined if the key never had an entry. Its seal is stored first, so a seal shows a lost entry: throws `internal_error`. */
  async #current(name: EntryName): Promise<StoredMessage | undefined> {
    const found = await this.#messages.last(name);
    if (found !== undefined || this.seals === undefined) return found;
    const trace = await this.seals.traceOf(name);
    if (trace === 'none') return undefined;
    const now = await this.#messages.lastNow(name);
    if (now === undefined && trace === 'erased')
      throw vaultDamaged(name.keyId, new Error('it was shredded, and the stream has lost it'));
    return now;
  }

  /** Erases the messages of the key from `first` on, up to the one before `position`. Stops at a sealed entry. */
  async #eraseBefore(position: number, name: EntryName, first?: StoredMessage): Promise<void> {
    let old = first ?? (await this.#messages.first(name));
    while (old !== undefined && old.position < position) {
      if (this.isReplicated && sealPartsOf(old.bytes) > 0) return;
      old.bytes.fill(0);
      await this.#messages.erase(old.position);
      old = await this.#messages.first(name);
    }
  }

  /** The entry with its wrapped key unsealed. `parts`: of its seal. */
  async #unsealed(sealed: StoredVaultEntry, parts: number): Promise<StoredVaultEntry> {
    const { project, keyId, entry, revision } = sealed;
    if (entry.wrapped === null) return sealed;
    const seal = await this.#sealOf(sealed, entry.wrapped, parts);
    return { project, keyId, entry: { ...entry, wrapped: openedWith(seal, entry.wrapped, sealed) }, revision };
  }

  /** Throws `internal_error` if no server has the seal, `unavailable` if that is unknown or the entry was replaced. */
  async #sealOf(name: EntryName, sealed: Uint8Array, parts: number): Promise<Seal> {
    const seal = await this.seals?.find(name, sealIdsIn(sealed, parts));
    if (seal === 'erased') throw unavailable('the key was shredded a moment ago; retry shortly');
    if (seal !== undefined) return seal;
    const now = await this.#messages.lastNow(name);
    const wrapped = now && entryIn(now, name).entry.wrapped;
    if (wrapped == null || Buffer.compare(wrapped, sealed) !== 0) throw new Replaced();
    throw vaultDamaged(name.keyId, new Error('no server has its seal'));
  }

  /** Publishes the entry after revision `after`; undefined, without effect, if another revision is current. */
  async #write(name: EntryName, entry: VaultEntry, after: number): Promise<Written | undefined> {
    this.#assertUsable();
    // A seal must not be made for an entry that is refused. Without seals, the stream compares the revision.
    const before = this.seals && (await this.#messages.last(name));
    if (this.seals !== undefined && (before?.position ?? NO_MESSAGE) !== after) return undefined;
    const prepared = await this.#prepared({ ...name, entry, revision: after }, before);
    const revision = prepared && (await this.#messages.write(name, prepared.bytes, after));
    return revision === undefined ? undefined : { revision, freshSeal: prepared?.freshSeal };
  }

  /**
   * The entry in its published form. Its versions share a seal until the wrapped key changes, so that a key under an old master
   * key is gone with the old seal. Undefined if the key is shredded.
   */
  async #prepared(stored: StoredVaultEntry, before: StoredMessage | undefined): Promise<Prepared | undefined> {
    const { entry, project, keyId } = stored;
    if (this.seals === undefined || entry.wrapped === null)
      return { bytes: encodeVaultEntry(stored), freshSeal: undefined };
    const kept = before && (await this.#sealKept(before, stored, entry.wrapped));
    const seal = kept ?? freshSeal(this.options.entropy);
    const wrapped = sealWrapped(seal, entry.wrapped, stored, this.options.entropy);
    const bytes = encodeVaultEntry({ ...stored, entry: { ...entry, wrapped } }, seal.length);
    if (kept !== undefined) return { bytes, freshSeal: undefined };
    const put = await this.seals.put(stored, seal);
    if (put === 'erased') return undefined;
    if (put === 'partly') await this.options.onPartly(project, keyId);
    return { bytes, freshSeal: sealIdsIn(wrapped, seal.length) };
  }

  /** The seal of the current entry; undefined if that is not sealed, or has another wrapped key. */
  async #sealKept(before: StoredMessage, name: EntryName, wrapped: Uint8Array): Promise<Seal | undefined> {
    const { wrapped: sealed } = entryIn(before, name).entry;
    const parts = sealPartsOf(before.bytes);
    if (parts === 0 || sealed === null) return undefined;
    const seal = await this.#sealOf(name, sealed, parts);
    return Buffer.compare(openedWith(seal, sealed, name), wrapped) === 0 ? seal : undefined;
  }

  /** Copies the seal to every server, and erases older ones. A server that is away gets it later. */
  async #completeSeal(name: EntryName, ids: readonly string[]): Promise<void> {
    try {
      await this.seals?.complete(name, ids);
    } catch (error) {
      unlessUnavailable(error);
      await this.options.onPartly(name.project, name.keyId);
    }
  }

  /** Erases the seals of an entry without a key. `settle` reports servers that are away. */
  async #eraseSeals(name: EntryName, { wrapped }: VaultEntry): Promise<void> {
    if (wrapped === null) await this.seals?.erase(name).catch(unlessUnavailable);
  }

  /** Copies missing seals to every server, as after the loss of a disk; repeats until that is done. */
  async #evenOut(seals: Seals): Promise<void> {
    const { logger } = this.connection;
    for (let waitMs = nextDelayMs(BACKOFF.seals); !this.#closed; waitMs = nextDelayMs(BACKOFF.seals, waitMs)) {
      try {
        const areUneven = await seals.areUneven();
        if (areUneven) await this.#settleAll();
        if (areUneven !== undefined) return;
      } catch (error) {
        if (this.#closed) return;
        logger.warn(
          { error: messageOf(error) },
          'not every NATS server has every seal of the vault; copying is tried again',
        );
      }
      await delay(waitMs, undefined, { ref: false });
    }
  }

  async #settleAll(): Promise<void> {
    const { logger } = this.connection;
    const names = await this.#messages.names();
    logger.info({ entries: names.length }, 'a NATS server lacks seals of the vault; they are copied to it');
    const settle = ({ project, keyId }: EntryName): Promise<unknown> => this.settle(project, keyId).catch(orDamaged);
    await mapConcurrent(names, EVENED_AT_ONCE, settle);
    logger.info('all NATS servers have all seals of the vault');
  }

  #assertUsable(): void {
    if (this.#closed) throw unavailable('the vault is closed');
    if (!this.connection.connected) throw this.connection.down();
  }
}

/** The entry of a message, with the position as revision. Throws `internal_error` if it does not verify. */
function entryIn({ bytes, position }: StoredMessage, { project, keyId }: EntryName): StoredVaultEntry {
  try {
    return { ...decodeVaultEntry(bytes, project, keyId), revision: position };
  } catch (error) {
    throw error instanceof Malformed ? vaultDamaged(keyId, error) : error;
  }
}

/** Opens the sealed key. Throws `internal_error` if the seal does not fit. */
function openedWith(seal: Seal, sealed: Uint8Array, name: EntryName): Uint8Array {
  try {
    return openSealed(seal, sealed, name);
  } catch (error) {
    throw error instanceof Malformed ? vaultDamaged(name.keyId, error) : error;
  }
}
