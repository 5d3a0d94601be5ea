/** The vault's stream, message by message: a subject is a key, and its last message the key's entry. */
import { setTimeout as delay } from 'node:timers/promises';
import { headers } from 'nats';
import { unavailable } from '../errors/errors.js';
import {
  isOutcomeUnknown,
  isRetryable,
  overwriteMessage,
  readFromLeader,
  type StoredMessage,
} from '../log/jetStreamMessages.js';
import { LASTING, prepareLastingStream } from '../nats/lastingStream.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal } from '../nats/natsError.js';
import { RETRY_MS } from '../scheduling/retry.js';
import { VAULT_BARRIER, VAULT_STREAM, VAULT_SUBJECTS, vaultSubject } from '../transport/subjects.js';
import { checkKeyId, type EntryName, isKeyId, projectOfHex, projectToHex } from './entryName.js';

/** Time limits of a try, after which its outcome is unknown, and of all tries together. */
const TRY_MS = 2_000;
const WRITE_WITHIN_MS = 8_000;
const MARK_TRIES = 20;
/** Header with the subject of the expected sequence, if it is not the message's own. */
const EXPECTED_SUBJECT = 'Nats-Expected-Last-Subject-Sequence-Subject';
const NOTHING = new Uint8Array(0);
/** The position of the last message of a subject without messages. */
export const NO_MESSAGE = 0;

/**
 * Makes a missing stream of the vault. Resolves to the number of servers that have it. Throws an Error that names the setting
 * through which an existing stream could lose an entry or keep a shredded one.
 */
export function prepareVaultStream(connection: ClusterConnection, replicas: number): Promise<number> {
  const wanted = {
    name: VAULT_STREAM,
    description: 'Wrapped data keys of Vouch: a subject is a key',
    subjects: [VAULT_SUBJECTS],
    // A server that drops an old message of a subject leaves its bytes on the disk; ours are overwritten one by one.
    ...LASTING,
    num_replicas: replicas,
    // Only the leader answers, since other replicas are often behind. Even a leader may be stale: see `lastNow`.
    allow_direct: false,
    deny_delete: false,
    // A purge drops messages and leaves their bytes.
    deny_purge: true,
  };
  return prepareLastingStream(connection, wanted, ['allow_direct', 'deny_delete'], 'keys would not be safe in it');
}

export class VaultMessages {
  constructor(
    private readonly connection: ClusterConnection,
    /** Whether several servers have the stream. */
    private readonly isReplicated: boolean,
  ) {}

  async first(name: EntryName): Promise<StoredMessage | undefined> {
    return this.#behind(name, NO_MESSAGE);
  }

  /** Asks the leader for the last message of the key. A stale replica answers an older one. */
  async last(name: EntryName): Promise<StoredMessage | undefined> {
    return readFromLeader(this.connection, VAULT_STREAM, { last: subjectOf(name) });
  }

  /** The last message as of this call. The leader stores a barrier only if no message has followed it, so even a stale answer is found out. */
  async lastNow(name: EntryName): Promise<StoredMessage | undefined> {
    for (let left = MARK_TRIES; ; left--) {
      const last = await this.last(name);
      try {
        await this.#mark({ subject: subjectOf(name), position: last?.position ?? NO_MESSAGE });
        return last;
      } catch (error) {
        if (!(error instanceof JetStreamRefusal) || left === 0) throw error;
      }
      await delay(RETRY_MS.write);
    }
  }

  /**
   * Publishes an entry that replaces the message at `after`. Returns its position; undefined, without effect, if another message is
   * last. A try whose outcome is unknown is repeated.
   */
  async write(name: EntryName, bytes: Uint8Array, after: number): Promise<number | undefined> {
    const { clock } = this.connection;
    const giveUpMs = clock.monotonicMs() + WRITE_WITHIN_MS;
    let mayBeThere = false;
    for (;;)
      try {
        const options = { expect: { lastSubjectSequence: after }, timeout: TRY_MS };
        return (await this.connection.call(() => this.connection.js.publish(subjectOf(name), bytes, options))).seq;
      } catch (error) {
        const isRefused = isRefusal(error, JETSTREAM.wrongLastSequence);
        if (isRefused && !mayBeThere) return undefined;
        if (isRefused) return this.#positionOf(name, bytes, after);
        if (!isRetryable(error)) throw error;
        mayBeThere ||= isOutcomeUnknown(error);
        if (this.connection.closed || clock.monotonicMs() >= giveUpMs) throw mayBeThere ? unconfirmed(error) : error;
        await this.connection.untilConnected(TRY_MS);
        await delay(RETRY_MS.write);
      }
  }

  /** Overwrites a message, never the last one of its subject. */
  async erase(sequence: number): Promise<void> {
    await overwriteMessage(this.connection, VAULT_STREAM, sequence);
  }

  /** All keys as of this call, with the number of messages of each. Throws `unavailable` if a stale replica answers. */
  async names(): Promise<readonly (EntryName & { readonly messages: number })[]> {
    const mark = this.isReplicated ? await this.#mark() : NO_MESSAGE;
    const { state } = await this.connection.call(() =>
      this.connection.jsm.streams.info(VAULT_STREAM, { subjects_filter: VAULT_SUBJECTS }),
    );
    if (state.last_seq < mark) throw unavailable('the vault could not be listed; retry shortly');
    return Object.entries(state.subjects ?? {}).flatMap(([subject, messages]) => {
      const name = nameIn(subject);
      return name === undefined ? [] : { ...name, messages };
    });
  }

  /** Stores a barrier, a message without an entry, and returns its position. Refused if `last` is not the last message of its subject. */
  async #mark(last?: { readonly subject: string; readonly position: number }): Promise<number> {
    const own = headers();
    if (last !== undefined) own.set(EXPECTED_SUBJECT, last.subject);
    const expected = last && { headers: own, expect: { lastSubjectSequence: last.position } };
    const options = { ...expected, timeout: TRY_MS };
    return (await this.connection.call(() => this.connection.js.publish(VAULT_BARRIER, NOTHING, options))).seq;
  }

  /** The position of an entry that an earlier try has stored. Throws `unavailable` if another message follows `after`. */
  async #positionOf(name: EntryName, bytes: Uint8Array, after: number): Promise<number> {
    const next = await this.#behind(name, after);
    if (next === undefined || Buffer.compare(next.bytes, bytes) !== 0) throw unconfirmed();
    return next.position;
  }

  async #behind(name: EntryName, position: number): Promise<StoredMessage | undefined> {
    return readFromLeader(this.connection, VAULT_STREAM, { sequence: position + 1, next: subjectOf(name) });
  }
}

const unconfirmed = (cause?: unknown): Error =>
  unavailable('the vault did not confirm the entry; retry shortly', cause);

const subjectOf = ({ project, keyId }: EntryName): string => vaultSubject(projectToHex(project), checkKeyId(keyId));

/** The name of the entry with this subject; undefined for other subjects. */
function nameIn(subject: string): EntryName | undefined {
  const [, , hex = '', keyId = ''] = subject.split('.');
  const project = projectOfHex(hex);
  return project === undefined || !isKeyId(keyId) ? undefined : { project, keyId };
}
