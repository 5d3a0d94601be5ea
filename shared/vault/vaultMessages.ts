/**
 * The vault's stream, message by message: a subject is a key, and `entryVersion.ts` finds its entry.
 *
 * Clusters of NATS 2.9 (found with 2.9.10) behave so when servers are killed:
 * - A publish that expects message n, n > 0, is checked when it is proposed and not when it is stored: two may pass. So a
 *   written entry is read back, and counts where it is the first of its version.
 * - A publish that expects no message is checked when it is stored. A restarted server miscounts what was refused then,
 *   and stores its newest messages again, under other sequences; a later deletion by sequence hits another message there.
 *   So no such expectation is made, and nothing is ever refused when it is stored.
 * - A new leader answers reads before it has applied all acknowledged messages. It acknowledges a publish after that: see
 *   `catchUp`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { unavailable } from '../errors/errors.js';
import { Malformed } from '../errors/malformed.js';
import {
  isOutcomeUnknown,
  isRetryable,
  overwriteMessage,
  readFromLeader,
  type StoredMessage,
} from '../log/jetStreamMessages.js';
import { LASTING, prepareLastingStream } from '../nats/lastingStream.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { isRefusal, JETSTREAM } from '../nats/natsError.js';
import { RETRY_MS } from '../scheduling/retry.js';
import { VAULT_BARRIER, VAULT_STREAM, VAULT_SUBJECTS, vaultSubject } from '../transport/subjects.js';
import { decodeVaultEntry } from './entryCodec.js';
import { checkKeyId, type EntryName, isKeyId, projectOfHex, projectToHex } from './entryName.js';
import { type CurrentEntry, currentOf, revisionIn } from './entryVersion.js';
import { forget } from './vaultStore.js';

/** Time limits of a try, after which its outcome is unknown, and of all tries together. */
const TRY_MS = 2_000;
const WRITE_WITHIN_MS = 8_000;
const SEEN_MAX = 10_000;
const NO_MESSAGE = 0;

/**
 * Makes the stream that holds the vault where there is none. Resolves to how many servers hold it. Throws an Error that
 * names the setting where an existing stream could lose an entry or keep a shredded one.
 */
export function prepareVaultStream(connection: ClusterConnection, replicas: number): Promise<number> {
  const wanted = {
    name: VAULT_STREAM,
    description: 'Wrapped data keys of Vouch: a subject is a key',
    subjects: [VAULT_SUBJECTS],
    // A server that drops an old message of a subject leaves its bytes on the disk; ours are overwritten one by one.
    ...LASTING,
    num_replicas: replicas,
    // The leader has the newest entry; a replica that lags could answer with a key that is shredded.
    allow_direct: false,
    deny_delete: false,
    // A purge drops messages and leaves their bytes.
    deny_purge: true,
  };
  return prepareLastingStream(connection, wanted, ['allow_direct', 'deny_delete'], 'keys would not be safe in it');
}

export class VaultMessages {
  /** Subject → revision of an entry that was current as the last message: it is current while it is the last. */
  private readonly seen = new LRUCache<string, number>({ max: SEEN_MAX });

  constructor(
    private readonly connection: ClusterConnection,
    /** Whether several servers hold the stream; a single one checks expectations when it stores. */
    private readonly isReplicated: boolean,
  ) {}

  /** Undefined where there is no message. */
  async current(name: EntryName): Promise<CurrentEntry | undefined> {
    const subject = subjectOf(name);
    const [last, first] = await Promise.all([
      readFromLeader(this.connection, VAULT_STREAM, { last: subject }),
      this.next(subject, 1),
    ]);
    if (first === undefined) return last && this.currentAmong(name, [last]);
    if (last !== undefined && this.isSeen(name, last)) return { ...this.currentAmong(name, [last]), first };
    return this.walked(name, first, last);
  }

  /** Reads every message from the first to the last, or to the end. */
  private async walked(name: EntryName, first: StoredMessage, last?: StoredMessage): Promise<CurrentEntry> {
    const messages: [StoredMessage, ...StoredMessage[]] = [first];
    for (let at: StoredMessage | undefined = first; ; messages.push(at)) {
      if (last !== undefined && at.position >= last.position) break;
      at = await this.next(first.subject, at.position + 1);
      if (at === undefined) break;
    }
    return this.currentAmong(name, messages);
  }

  /**
   * Publishes an entry of revision `own`, and resolves when it is current; false, without effect, where `before` is not
   * current any more. A try whose outcome is unknown is repeated: it does not matter which one is stored.
   */
  async write(name: EntryName, bytes: Uint8Array, own: number, before: CurrentEntry | undefined): Promise<boolean> {
    const giveUpMs = this.connection.clock.monotonicMs() + WRITE_WITHIN_MS;
    const follows = revisionIn(before);
    let isUnknown = false;
    for (let current = before; ; ) {
      let problem: unknown;
      try {
        await this.publish(name, bytes, current?.last.position ?? NO_MESSAGE);
        if (!this.isReplicated) return true;
        isUnknown = true;
      } catch (error) {
        problem = error;
        isUnknown ||= isOutcomeUnknown(error);
      }
      if (problem !== undefined && !isRefused(problem) && !isRetryable(problem)) throw problem;
      try {
        const first = await this.first(name);
        current = first && (await this.walked(name, first));
        if (current?.revisions.has(own)) return true;
        // A single server keeps the last version only: another writer's may have come instead of ours or after it.
        if (revisionIn(current) !== follows && (this.isReplicated || !isUnknown)) return false;
        problem ??= unavailable('the entry could not be read back; retry shortly');
      } catch (error) {
        if (!isRetryable(error)) throw error;
        problem = error;
      }
      if (this.connection.closed || this.connection.clock.monotonicMs() >= giveUpMs)
        throw isUnknown
          ? unavailable('whether the vault took the entry could not be learned; retry shortly', problem)
          : problem;
      await this.connection.untilConnected(TRY_MS);
      await delay(RETRY_MS.write);
    }
  }

  /** Overwrites a message, never the last one of its subject. */
  erase(sequence: number): Promise<void> {
    return overwriteMessage(this.connection, VAULT_STREAM, sequence);
  }

  first(name: EntryName): Promise<StoredMessage | undefined> {
    return this.next(subjectOf(name), 1);
  }

  /** Resolves when the leader has applied all messages acknowledged before the call. Costs a message of some 100 bytes. */
  async catchUp(): Promise<void> {
    if (!this.isReplicated) return;
    await this.connection.call(() => this.connection.js.publish(VAULT_BARRIER, new Uint8Array(0), { timeout: TRY_MS }));
  }

  /** All keys, and how many messages each has. */
  async names(): Promise<readonly (EntryName & { readonly messages: number })[]> {
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

  private currentAmong(
    { project, keyId }: EntryName,
    messages: readonly [StoredMessage, ...StoredMessage[]],
  ): CurrentEntry {
    const current = currentOf(messages, ({ bytes }) => decodeVaultEntry(bytes, project, keyId));
    const { newest, last } = current;
    if (!(newest instanceof Malformed) && newest.message === last) this.seen.set(last.subject, newest.stored.revision);
    return current;
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

/** Undefined where the subject is not one of an entry. */
function nameIn(subject: string): EntryName | undefined {
  const [, , hex = '', keyId = ''] = subject.split('.');
  const project = projectOfHex(hex);
  return project === undefined || !isKeyId(keyId) ? undefined : { project, keyId };
}

const isRefused = (error: unknown): boolean =>
  isRefusal(error, JETSTREAM.wrongLastSequence);
