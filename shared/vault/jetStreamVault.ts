/**
 * The vault in JetStream: a subject a key, an entry a message, its revision the stream's sequence. The server takes an
 * entry only where the subject's last message is the one that the writer names; the one it replaces is then erased, its
 * bytes overwritten in the server's files. Whoever reads an entry that has older ones before it erases those first.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { millis, type PeerInfo } from 'nats';
import { type Entropy, systemEntropy } from '../clock.js';
import { unavailable, VouchError } from '../errors.js';
import { readFromLeader, type StoredMessage } from '../log/jetStreamMessages.js';
import { Malformed } from '../malformed.js';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal, NoJetStream } from '../natsError.js';
import { severalAtOnce } from '../severalAtOnce.js';
import { VAULT_STREAM, VAULT_SUBJECTS, vaultSubject } from '../subjects.js';
import { decodeVaultEntry, encodeVaultEntry } from './entryCodec.js';
import { checkKeyId, isKeyId, orDamaged, projectOfHex, projectToHex, vaultDamaged } from './entryName.js';
import type { StoredVaultEntry, VaultEntry, VaultStore } from './vaultStore.js';
import { prepareVaultStream } from './vaultStream.js';

const NOTHING = 0;
/** How long a try may take before its outcome counts as unknown, and all of them together. */
const TRY_MS = 2_000;
const WRITE_WITHIN_MS = 8_000;
const BETWEEN_TRIES_MS = 50;
const READS_AT_ONCE = 32;
const MARK_BYTES = 6;
/** A server that keeps up was heard of when it took the deletion, a moment ago. */
const AWAY_MS = 500;

export interface JetStreamVaultOptions {
  readonly connection: ClusterConnection;
  readonly replicas: number;
  readonly entropy?: Entropy;
}

interface Name {
  readonly project: string;
  readonly keyId: string;
}

export class JetStreamVault implements VaultStore {
  private closed = false;

  private constructor(
    private readonly connection: ClusterConnection,
    private readonly replicas: number,
    private readonly entropy: Entropy,
  ) {}

  /** Makes the stream where there is none, and erases what a crash has left of replaced entries. */
  static async open({ connection, replicas, entropy = systemEntropy }: JetStreamVaultOptions): Promise<JetStreamVault> {
    await prepareVaultStream(connection, replicas);
    const vault = new JetStreamVault(connection, replicas, entropy);
    const replaced = (await vault.names()).filter(({ messages }) => messages > 1);
    await severalAtOnce(replaced, READS_AT_ONCE, (name) => vault.listed(name).catch(orDamaged));
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
    await this.eraseBefore(last, first, keyId);
    return newest;
  }

  create(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    return this.write({ project, keyId }, entry, NOTHING);
  }

  async replace({ project, keyId, revision }: StoredVaultEntry, entry: VaultEntry): Promise<number | undefined> {
    const written = await this.write({ project, keyId }, entry, revision);
    if (written === undefined) return undefined;
    await this.erase(revision, keyId);
    return written;
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
  private async eraseBefore(newest: StoredMessage, first: StoredMessage | undefined, keyId: string): Promise<void> {
    for (let old = first; old !== undefined && old.position < newest.position; old = await this.first(newest.subject))
      await this.erase(old.position, keyId);
  }

  /**
   * Undefined where the subject's last message is not the one at `after`. A try whose outcome is unknown is made again:
   * the expected sequence lets at most one in, and the mark tells whether what stands there then is ours.
   */
  private async write(name: Name, entry: VaultEntry, after: number): Promise<number | undefined> {
    this.assertUsable();
    const subject = subjectOf(name);
    const mark = Buffer.from(this.entropy(MARK_BYTES)).readUIntLE(0, MARK_BYTES);
    const bytes = encodeVaultEntry({ ...name, entry, revision: mark });
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
  private async erase(sequence: number, keyId: string): Promise<void> {
    try {
      await this.connection.call(() => this.connection.jsm.streams.deleteMessage(VAULT_STREAM, sequence, true));
    } catch (error) {
      // Somebody else may have erased it meanwhile.
      if (!(error instanceof JetStreamRefusal) || error.temporary) throw error;
      if ((await readFromLeader(this.connection, VAULT_STREAM, { sequence })) !== undefined) throw error;
    }
    if (this.replicas > 1) await this.tellOfAbsentServers(keyId).catch(() => undefined);
  }

  /**
   * A server that is away while a message is erased may be told later only that it is deleted, and leave its bytes. Nothing
   * but a new master key makes those worthless.
   */
  private async tellOfAbsentServers(keyId: string): Promise<void> {
    const { cluster } = await this.connection.call(() => this.connection.jsm.streams.info(VAULT_STREAM));
    const isAway = ({ offline = false, current, active }: PeerInfo): boolean =>
      offline || (!current && millis(active) > AWAY_MS);
    const servers = (cluster?.replicas ?? []).filter(isAway).map(({ name }) => name);
    if (servers.length > 0)
      this.connection.logger.warn(
        { keyId, servers },
        'NATS servers were away while a wrapped key was erased; when they are back, run: npm run keys -- rotate-master',
      );
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

const isWorthAnotherTry = (error: unknown): boolean =>
  error instanceof JetStreamRefusal ? error.temporary : error instanceof VouchError && error.code === 'unavailable';
