/**
 * The vault's stream, message by message: a subject is a key, and its entry the message that `entryVersion.ts` says.
 *
 * What several servers of NATS 2.9 do when some are killed, and what is done here about it (found with 2.9.10):
 * - A publish that expects message n, n > 0, is checked when it is proposed and not when it is stored: two pass. So what was
 *   written is read back, and stands where it is the first of its version.
 * - One that expects no message is checked when it is stored. A server that starts again miscounts what was refused
 *   then, and stores its newest messages a second time, under other sequences; what is deleted by sequence later is another
 *   message there. So no such expectation is made, and nothing is ever refused when it is stored.
 * - A server that has just become the leader answers before it has applied all that was acknowledged. What is
 *   published has its answer after that: see `catchUp`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { unavailable, VouchError } from '../errors.js';
import { readFromLeader, type StoredMessage } from '../log/jetStreamMessages.js';
import { Malformed } from '../malformed.js';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal, NoJetStream } from '../natsError.js';
import { VAULT_BARRIER, VAULT_STREAM, VAULT_SUBJECTS, vaultSubject } from '../subjects.js';
import { decodeVaultEntry } from './entryCodec.js';
import { checkKeyId, isKeyId, projectOfHex, projectToHex } from './entryName.js';
import { revisionIn, type Standing, standingOf } from './entryVersion.js';
import type { EntryName } from './seal.js';
import { forget } from './vaultStore.js';

/** How long a try may take before its outcome counts as unknown, and all of them together. */
const TRY_MS = 2_000;
const WRITE_WITHIN_MS = 8_000;
const BETWEEN_TRIES_MS = 50;
const SEEN_MAX = 10_000;
const NO_MESSAGE = 0;

export interface ListedName extends EntryName {
  readonly messages: number;
}

export class VaultMessages {
  /** Subject → revision of what was found to stand when it was the last message: it does as long as it is. */
  private readonly seen = new LRUCache<string, number>({ max: SEEN_MAX });

  constructor(
    private readonly connection: ClusterConnection,
    /** Whether several servers hold the stream; one alone checks what is expected as it stores. */
    private readonly isReplicated: boolean,
  ) {}

  /** Undefined where there is no message. */
  async standing(name: EntryName): Promise<Standing | undefined> {
    const subject = subjectOf(name);
    const [last, first] = await Promise.all([
      readFromLeader(this.connection, VAULT_STREAM, { last: subject }),
      this.next(subject, 1),
    ]);
    if (first === undefined) return last && this.judged(name, [last]);
    if (last !== undefined && this.isSeen(name, last)) return { ...this.judged(name, [last]), first };
    return this.walked(name, first, last);
  }

  /** By every message from the first to the last, as far as that is known. */
  private async walked(name: EntryName, first: StoredMessage, last: StoredMessage | undefined): Promise<Standing> {
    const messages: [StoredMessage, ...StoredMessage[]] = [first];
    for (let at: StoredMessage | undefined = first; ; messages.push(at)) {
      if (last !== undefined && at.position >= last.position) break;
      at = await this.next(first.subject, at.position + 1);
      if (at === undefined) break;
    }
    return this.judged(name, messages);
  }

  /**
   * Resolves when the entry stands, and `bytes` state its revision; false, with nothing done that counts, where what stands
   * is not what stood in `before`. A try whose outcome is unknown is made again: which of them is stored is all the same.
   */
  async write(name: EntryName, bytes: Uint8Array, own: number, before: Standing | undefined): Promise<boolean> {
    const giveUpMs = this.connection.clock.monotonicMs() + WRITE_WITHIN_MS;
    const follows = revisionIn(before);
    let isUnknown = false;
    for (let standing = before; ; ) {
      let problem: unknown;
      try {
        await this.publish(name, bytes, standing?.last.position ?? NO_MESSAGE);
        if (!this.isReplicated) return true;
        isUnknown = true;
      } catch (error) {
        problem = error;
        isUnknown ||= isOutcomeUnknown(error);
      }
      if (problem !== undefined && !isRefused(problem) && !isWorthAnotherTry(problem)) throw problem;
      try {
        const first = await this.first(name);
        standing = first && (await this.walked(name, first, undefined));
        if (standing?.revisions.has(own)) return true;
        // One server holds no version but the last: another's there may have come instead of ours or after it.
        if (revisionIn(standing) !== follows && (this.isReplicated || !isUnknown)) return false;
        problem ??= unavailable('what the vault took could not be read back; retry shortly');
      } catch (error) {
        if (!isWorthAnotherTry(error)) throw error;
        problem = error;
      }
      if (this.connection.closed || this.connection.clock.monotonicMs() >= giveUpMs)
        throw isUnknown
          ? unavailable('whether the vault took the entry could not be learned; retry shortly', problem)
          : problem;
      await this.connection.untilConnected(TRY_MS);
      await delay(BETWEEN_TRIES_MS);
    }
  }

  /** Overwrites the message's bytes wherever the server has them. Never the last one of its subject. */
  async erase(sequence: number): Promise<void> {
    try {
      await this.connection.call(() => this.connection.jsm.streams.deleteMessage(VAULT_STREAM, sequence, true));
    } catch (error) {
      // Somebody else may have erased it meanwhile.
      if (!(error instanceof JetStreamRefusal) || error.temporary) throw error;
      if ((await readFromLeader(this.connection, VAULT_STREAM, { sequence })) !== undefined) throw error;
    }
  }

  first(name: EntryName): Promise<StoredMessage | undefined> {
    return this.next(subjectOf(name), 1);
  }

  /** Resolves when the leader has applied all that was acknowledged before the call. Costs a message of some 100 bytes. */
  async catchUp(): Promise<void> {
    if (!this.isReplicated) return;
    await this.connection.call(() => this.connection.js.publish(VAULT_BARRIER, new Uint8Array(0), { timeout: TRY_MS }));
  }

  /** Every key there is, and how many messages it has. */
  async names(): Promise<readonly ListedName[]> {
    const { state } = await this.connection.call(() =>
      this.connection.jsm.streams.info(VAULT_STREAM, { subjects_filter: VAULT_SUBJECTS }),
    );
    return Object.entries(state.subjects ?? {}).flatMap(([subject, messages]) => {
      const name = nameIn(subject);
      return name === undefined ? [] : { ...name, messages };
    });
  }

  private next(subject: string, sequence: number): Promise<StoredMessage | undefined> {
    return readFromLeader(this.connection, VAULT_STREAM, { sequence, next: subject });
  }

  private async publish(name: EntryName, bytes: Uint8Array, after: number): Promise<void> {
    const expect = this.isReplicated && after === NO_MESSAGE ? {} : { expect: { lastSubjectSequence: after } };
    await this.connection.call(() =>
      this.connection.js.publish(subjectOf(name), bytes, { ...expect, timeout: TRY_MS }),
    );
  }

  private judged({ project, keyId }: EntryName, messages: readonly [StoredMessage, ...StoredMessage[]]): Standing {
    const standing = standingOf(messages, ({ bytes }) => decodeVaultEntry(bytes, project, keyId));
    const { newest, last } = standing;
    if (!(newest instanceof Malformed) && newest.message === last) this.seen.set(last.subject, newest.stored.revision);
    return standing;
  }

  private isSeen({ project, keyId }: EntryName, last: StoredMessage): boolean {
    const revision = this.seen.get(last.subject);
    if (revision === undefined) return false;
    try {
      const stored = decodeVaultEntry(last.bytes, project, keyId);
      forget(stored);
      return stored.revision === revision;
    } catch (error) {
      if (error instanceof Malformed) return false;
      throw error;
    }
  }
}

const subjectOf = ({ project, keyId }: EntryName): string => vaultSubject(projectToHex(project), checkKeyId(keyId));

/** Undefined where the subject is none that we write to. */
function nameIn(subject: string): EntryName | undefined {
  const [, , hex = '', keyId = ''] = subject.split('.');
  const project = projectOfHex(hex);
  return project === undefined || !isKeyId(keyId) ? undefined : { project, keyId };
}

const isRefused = (error: unknown): boolean =>
  isRefusal(error, JETSTREAM.wrongLastSequence) || isRefusal(error, JETSTREAM.wrongLastSequenceUnderWay);

const isWorthAnotherTry = (error: unknown): boolean =>
  error instanceof JetStreamRefusal ? error.temporary : error instanceof VouchError && error.code === 'unavailable';

const isOutcomeUnknown = (error: unknown): boolean =>
  !(error instanceof JetStreamRefusal) && !(error instanceof NoJetStream);
