/**
 * The vault in JetStream: a subject a key, an entry a message, its revision the stream's sequence. The server takes an
 * entry only where the subject's last message is the one that the writer names; the one it replaces is then erased, its
 * bytes overwritten in the server's files. Whoever reads an entry that has older ones before it erases those first.
 *
 * Where several servers hold the stream, their Raft logs hold what was published for minutes more, so there the wrapped key
 * is sealed, and the seal lies beside the stream (see `seal.ts`). A key is then gone when its seal is:
 *
 *   seal put ──▶ entry published ──▶ … ──▶ entry without a key published ──▶ seal erased on every server
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Entropy, systemEntropy } from '../clock.js';
import { messageOf, unavailable, VouchError } from '../errors.js';
import { readFromLeader, type StoredMessage } from '../log/jetStreamMessages.js';
import { Malformed } from '../malformed.js';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal, NoJetStream } from '../natsError.js';
import { severalAtOnce } from '../severalAtOnce.js';
import { VAULT_STREAM, VAULT_SUBJECTS, vaultSubject } from '../subjects.js';
import { decodeVaultEntry, encodeVaultEntry, isSealedEntry } from './entryCodec.js';
import { checkKeyId, isKeyId, orDamaged, projectOfHex, projectToHex, vaultDamaged } from './entryName.js';
import { openSealed, SEAL_BYTES, sealIdIn, sealWrapped } from './seal.js';
import { openSeals } from './sealStreams.js';
import type { Seals } from './seals.js';
import type { StoredVaultEntry, VaultEntry, VaultStore } from './vaultStore.js';
import { prepareVaultStream } from './vaultStream.js';

const NOTHING = 0;
/** How long a try may take before its outcome counts as unknown, and all of them together. */
const TRY_MS = 2_000;
const WRITE_WITHIN_MS = 8_000;
const BETWEEN_TRIES_MS = 50;
const READS_AT_ONCE = 32;
const EVENED_AT_ONCE = 8;
const MARK_BYTES = 6;

export interface JetStreamVaultOptions {
  readonly connection: ClusterConnection;
  readonly replicas: number;
  readonly entropy?: Entropy;
  /** A seal is on most servers and not on all: `settle` is to be called, again and again, until it comes through. */
  readonly onPartly?: (project: string, keyId: string) => Promise<void>;
}

interface Name {
  readonly project: string;
  readonly keyId: string;
}

export class JetStreamVault implements VaultStore {
  private closed = false;

  private constructor(
    private readonly connection: ClusterConnection,
    /** Undefined where one server holds the vault, and always did; and where the servers have no tags. */
    private readonly seals: Seals | undefined,
    /** Whether several servers hold the vault now. */
    private readonly isReplicated: boolean,
    private readonly entropy: Entropy,
    private readonly onPartly: NonNullable<JetStreamVaultOptions['onPartly']>,
  ) {}

  /** Makes the streams where there are none, and erases what a crash has left of replaced entries. */
  static async open(options: JetStreamVaultOptions): Promise<JetStreamVault> {
    const { connection, replicas, entropy = systemEntropy, onPartly = async () => undefined } = options;
    await prepareVaultStream(connection, replicas);
    const seals = await openSeals(connection, replicas);
    const vault = new JetStreamVault(connection, seals, replicas > 1, entropy, onPartly);
    const names = await vault.names();
    const replaced = names.filter(({ messages }) => messages > 1);
    await severalAtOnce(replaced, READS_AT_ONCE, (name) => vault.listed(name).catch(orDamaged));
    if (await seals?.areUneven()) void vault.evenOut(names);
    return vault;
  }

  async get(project: string, keyId: string): Promise<StoredVaultEntry | undefined> {
    this.assertUsable();
    const name = { project, keyId };
    const subject = subjectOf(name);
    const [last, first] = await Promise.all([
      readFromLeader(this.connection, VAULT_STREAM, { last: subject }),
      this.first(subject),
    ]);
    if (last === undefined) return undefined;
    // Before anything is erased: what is damaged replaces nothing.
    const newest = decode(last, name);
    await this.eraseBefore(last, first);
    return isSealedEntry(last.bytes) ? this.unsealed(newest) : newest;
  }

  create(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    return this.write({ project, keyId }, entry, NOTHING);
  }

  async replace({ project, keyId, revision }: StoredVaultEntry, entry: VaultEntry): Promise<number | undefined> {
    const written = await this.write({ project, keyId }, entry, revision);
    if (written === undefined) return undefined;
    await this.erase(revision);
    await this.eraseSeals({ project, keyId }, entry);
    return written;
  }

  async replaceDamaged(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    this.assertUsable();
    const name = { project, keyId };
    const last = await readFromLeader(this.connection, VAULT_STREAM, { last: subjectOf(name) });
    if (last === undefined || (await this.get(project, keyId).catch(orDamaged)) !== 'damaged') return undefined;
    const written = await this.publishUntilKnown(
      last.subject,
      encodeVaultEntry(this.marked(name, entry)),
      last.position,
    );
    if (written === undefined) return undefined;
    await this.get(project, keyId);
    await this.eraseSeals(name, entry);
    return written;
  }

  async settle(project: string, keyId: string): Promise<void> {
    this.assertUsable();
    const name = { project, keyId };
    const subject = subjectOf(name);
    const last = await readFromLeader(this.connection, VAULT_STREAM, { last: subject });
    if (last === undefined) return;
    const { entry } = decode(last, name);
    if (entry.wrapped === null && this.isReplicated && this.seals === undefined)
      throw unavailable(
        'the key is destroyed, but not yet its copy in the Raft logs of NATS servers without server_tags',
      );
    await this.eraseBefore(last, await this.first(subject));
    if (entry.wrapped === null) await this.seals?.erase(name);
    else if (isSealedEntry(last.bytes)) await this.seals?.complete(name, sealIdIn(entry.wrapped));
  }

  async *list(onDamage: (project: string, keyId: string) => void): AsyncGenerator<StoredVaultEntry, void, undefined> {
    const names = await this.names();
    for (let at = 0; at < names.length; at += READS_AT_ONCE) {
      const some = names.slice(at, at + READS_AT_ONCE);
      const read = await severalAtOnce(some, READS_AT_ONCE, (name) => this.listed(name).catch(orDamaged));
      for (const [index, found] of read.entries())
        if (found !== 'damaged') yield found;
        else onDamage(some[index]!.project, some[index]!.keyId);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  /** An entry is never taken away: what was listed is there. */
  private async listed({ project, keyId }: Name): Promise<StoredVaultEntry> {
    const found = await this.get(project, keyId);
    if (found === undefined) throw unavailable('the vault could not be read to its end; retry shortly');
    return found;
  }

  private first(subject: string): Promise<StoredMessage | undefined> {
    return readFromLeader(this.connection, VAULT_STREAM, { sequence: 1, next: subject });
  }

  /** Erases what the newest entry has replaced; `first` is the subject's first message as it was read last. */
  private async eraseBefore(newest: StoredMessage, first: StoredMessage | undefined): Promise<void> {
    for (let old = first; old !== undefined && old.position < newest.position; old = await this.first(newest.subject))
      await this.erase(old.position);
  }

  /** With the wrapped key itself, which `sealed` holds under its seal. */
  private async unsealed(sealed: StoredVaultEntry): Promise<StoredVaultEntry> {
    const { project, keyId, entry, revision } = sealed;
    if (entry.wrapped === null) return sealed;
    const seal = await this.sealOf(sealed, entry.wrapped);
    try {
      return { project, keyId, entry: { ...entry, wrapped: openSealed(seal, entry.wrapped, sealed) }, revision };
    } catch (error) {
      throw error instanceof Malformed ? vaultDamaged(keyId, error) : error;
    }
  }

  /** Throws `internal_error` where no server has it, `unavailable` where that cannot be said, or the entry is replaced. */
  private async sealOf(name: Name, sealed: Uint8Array): Promise<Uint8Array> {
    const seal = await this.seals?.find(name, sealIdIn(sealed));
    if (seal === 'erased') throw unavailable('the key was shredded a moment ago; retry shortly');
    if (seal === undefined) throw vaultDamaged(name.keyId, new Error('no server has its seal'));
    return seal;
  }

  /**
   * The entry as it is published. Every version of an entry is under one seal, which is made with the first. Undefined where
   * the one at `after` is not the newest any more, or the key is shredded.
   */
  private async prepared(name: Name, entry: VaultEntry, after: number): Promise<Uint8Array | undefined> {
    const { wrapped } = entry;
    const stored = this.marked(name, entry);
    if (!this.isReplicated || this.seals === undefined || wrapped === null) return encodeVaultEntry(stored);
    const seal = after === NOTHING ? undefined : await this.sealAt(name, after);
    if (seal === null) return undefined;
    const used = seal ?? this.entropy(SEAL_BYTES);
    const sealed = sealWrapped(used, wrapped, name, this.entropy);
    const bytes = encodeVaultEntry({ ...stored, entry: { ...entry, wrapped: sealed } }, { isSealed: true });
    if (seal !== undefined) return bytes;
    const put = await this.seals.put(name, used);
    if (put === 'erased') return undefined;
    if (put === 'partly') await this.onPartly(name.project, name.keyId);
    return bytes;
  }

  /** By the mark in it a writer knows its own entry. */
  private marked(name: Name, entry: VaultEntry): StoredVaultEntry {
    return { ...name, entry, revision: Buffer.from(this.entropy(MARK_BYTES)).readUIntLE(0, MARK_BYTES) };
  }

  /** Of an entry without a key. Servers that are away are told of by `settle`. */
  private async eraseSeals(name: Name, { wrapped }: VaultEntry): Promise<void> {
    if (wrapped === null) await this.seals?.erase(name).catch(unlessUnavailable);
  }

  /** The seal of the entry there; undefined where that is not sealed, null where it is not the newest. */
  private async sealAt(name: Name, position: number): Promise<Uint8Array | null | undefined> {
    const last = await readFromLeader(this.connection, VAULT_STREAM, { last: subjectOf(name) });
    if (last?.position !== position) return null;
    if (!isSealedEntry(last.bytes)) return undefined;
    const { entry } = decode(last, name);
    return entry.wrapped === null ? undefined : this.sealOf(name, entry.wrapped);
  }

  /** Brings every server what it has not, as when one was replaced by an empty one. */
  private async evenOut(names: readonly Name[]): Promise<void> {
    const { logger } = this.connection;
    logger.info({ entries: names.length }, 'a NATS server lacks seals of the vault; they are brought to it');
    const settle = ({ project, keyId }: Name): Promise<unknown> => this.settle(project, keyId).catch(orDamaged);
    await severalAtOnce(names, EVENED_AT_ONCE, settle).then(
      () => logger.info('the NATS servers have the same seals of the vault'),
      (error: unknown) => logger.warn({ error: messageOf(error) }, 'not every NATS server has every seal of the vault'),
    );
  }

  /**
   * Undefined where the subject's last message is not the one at `after`. A try whose outcome is unknown is made again:
   * the expected sequence lets at most one in, and the mark tells whether what stands there then is ours.
   */
  private async write(name: Name, entry: VaultEntry, after: number): Promise<number | undefined> {
    this.assertUsable();
    const bytes = await this.prepared(name, entry, after);
    return bytes === undefined ? undefined : this.publishUntilKnown(subjectOf(name), bytes, after);
  }

  private async publishUntilKnown(subject: string, bytes: Uint8Array, after: number): Promise<number | undefined> {
    const giveUpMs = this.connection.clock.monotonicMs() + WRITE_WITHIN_MS;
    let mayBeThere = false;
    for (;;) {
      try {
        return await this.publish(subject, bytes, after);
      } catch (error) {
        if (isRefusal(error, JETSTREAM.wrongLastSequence))
          return mayBeThere ? this.ownAfter(subject, bytes, after) : undefined;
        if (!isWorthAnotherTry(error) || this.connection.clock.monotonicMs() >= giveUpMs) throw error;
        mayBeThere ||= !(error instanceof JetStreamRefusal) && !(error instanceof NoJetStream);
      }
      await this.connection.untilConnected(TRY_MS);
      await delay(BETWEEN_TRIES_MS);
      this.assertUsable();
    }
  }

  private async publish(subject: string, bytes: Uint8Array, after: number): Promise<number> {
    const options = { expect: { lastSubjectSequence: after }, timeout: TRY_MS };
    const stored = await this.connection.call(() => this.connection.js.publish(subject, bytes, options));
    return stored.seq;
  }

  /** Where our entry stands after an earlier try of unknown outcome. Another's there may have come instead of ours or after it. */
  private async ownAfter(subject: string, bytes: Uint8Array, after: number): Promise<number> {
    const found = await readFromLeader(this.connection, VAULT_STREAM, { sequence: after + 1, next: subject });
    if (found === undefined || Buffer.compare(found.bytes, bytes) !== 0)
      throw unavailable('whether the vault took the entry could not be learned; retry shortly');
    return found.position;
  }

  /** Overwrites the message's bytes wherever the server has them. */
  private async erase(sequence: number): Promise<void> {
    try {
      await this.connection.call(() => this.connection.jsm.streams.deleteMessage(VAULT_STREAM, sequence, true));
    } catch (error) {
      // Somebody else may have erased it meanwhile.
      if (!(error instanceof JetStreamRefusal) || error.temporary) throw error;
      if ((await readFromLeader(this.connection, VAULT_STREAM, { sequence })) !== undefined) throw error;
    }
  }

  /** Every key there is, and how many messages it has. */
  private async names(): Promise<readonly (Name & { readonly messages: number })[]> {
    this.assertUsable();
    const { state } = await this.connection.call(() =>
      this.connection.jsm.streams.info(VAULT_STREAM, { subjects_filter: VAULT_SUBJECTS }),
    );
    return Object.entries(state.subjects ?? {}).flatMap(([subject, messages]) => {
      const name = nameIn(subject);
      return name === undefined ? [] : { ...name, messages };
    });
  }

  private assertUsable(): void {
    if (this.closed) throw unavailable('the vault is closed');
    if (!this.connection.connected) throw this.connection.down();
  }
}

const subjectOf = ({ project, keyId }: Name): string => vaultSubject(projectToHex(project), checkKeyId(keyId));

/** Undefined where the subject is none that we write to. */
function nameIn(subject: string): Name | undefined {
  const [, , hex = '', keyId = ''] = subject.split('.');
  const project = projectOfHex(hex);
  return project === undefined || !isKeyId(keyId) ? undefined : { project, keyId };
}

function decode({ bytes, position }: StoredMessage, { project, keyId }: Name): StoredVaultEntry {
  try {
    return { ...decodeVaultEntry(bytes, project, keyId), revision: position };
  } catch (error) {
    if (error instanceof Malformed) throw vaultDamaged(keyId, error);
    throw error;
  }
}

function unlessUnavailable(error: unknown): void {
  if (!(error instanceof VouchError && error.code === 'unavailable')) throw error;
}

const isWorthAnotherTry = (error: unknown): boolean =>
  error instanceof JetStreamRefusal ? error.temporary : error instanceof VouchError && error.code === 'unavailable';
