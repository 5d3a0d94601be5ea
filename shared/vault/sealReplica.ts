/**
 * The seals on one NATS server, in a stream without replicas. Without a Raft log, a deleted message is overwritten at once.
 *
 * ```text
 * nothing ──put──▶ a seal (or several, of concurrent writers) ──erase──▶ erased, for good
 * ```
 *
 * A subject is an entry of the vault. Every message names its predecessor, so a late seal is refused after the erasure. The seal of
 * a late writer stays until the erasure, over a key that is not in use.
 */
import type { StreamInfo } from 'nats';
import { unavailable, VouchError } from '../errors/errors.js';
import { overwriteMessage, readFromLeader, type StoredMessage } from '../log/jetStreamMessages.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal } from '../nats/natsError.js';
import { sealStream, sealSubject } from '../transport/subjects.js';
import { checkKeyId, type EntryName, projectToHex } from './entryName.js';
import { decodeSeal, ERASED, encodeSeal, isErased, sealIdOf } from './seal.js';

const NOTHING = 0;
/** A short limit: a live server answers in a millisecond, and one that hangs must not delay the others. */
const PATIENCE = { tryMs: 1_000, tries: 1 };
/** Pause after a server did not answer. */
const AWAY_MS = 1_000;

/** Asks for the state of a stream of seals, which only its own server answers. */
export async function sealStreamInfo({ nc, api }: ClusterConnection, number: number): Promise<Partial<StreamInfo>> {
  const answer = await nc.request(`${api}.STREAM.INFO.${sealStream(number)}`, '', { timeout: PATIENCE.tryMs });
  return answer.json();
}

export class SealReplica {
  #awayUntilMs = 0;

  /** `number`: from 1. `server`: its name; undefined if it was away when the vault was opened. */
  constructor(
    private readonly connection: ClusterConnection,
    private readonly number: number,
    private readonly server: string | undefined,
  ) {}

  get name(): string {
    return this.server ?? `the one with stream ${sealStream(this.number)}`;
  }

  /** Number of messages; undefined while the server is away. */
  async count(): Promise<number | undefined> {
    const info = await this.#ask(() => sealStreamInfo(this.connection, this.number)).catch(() => undefined);
    return info?.state?.messages;
  }

  /** Resolves when the seal is stored. */
  async put(name: EntryName, seal: Uint8Array): Promise<'stored' | 'erased'> {
    for (let after = NOTHING; ; ) {
      if ((await this.#publish(name, encodeSeal(seal), after)) !== undefined) return 'stored';
      const found = await this.find(name, sealIdOf(seal));
      if (found !== undefined) return found === 'erased' ? 'erased' : 'stored';
      after = (await this.#last(name))?.position ?? NOTHING;
    }
  }

  /** Undefined if this server lacks the seal of that id. */
  async find(name: EntryName, id: string): Promise<Uint8Array | 'erased' | undefined> {
    const last = await this.#last(name);
    if (last === undefined) return undefined;
    if (isErased(last.bytes)) return 'erased';
    if (isSealOf(last, id)) return decodeSeal(last.bytes);
    for await (const message of this.#messages(name, last.position))
      if (isSealOf(message, id)) return decodeSeal(message.bytes);
    return undefined;
  }

  async traceOf(name: EntryName): Promise<'none' | 'sealed' | 'erased'> {
    const last = await this.#last(name);
    if (last === undefined) return 'none';
    return isErased(last.bytes) ? 'erased' : 'sealed';
  }

  /** Overwrites the seals before the one of that id. Later ones may belong to a concurrent writer. */
  async eraseBefore(name: EntryName, id: string): Promise<void> {
    const older: number[] = [];
    for await (const message of this.#messages(name)) {
      if (isSealOf(message, id)) {
        for (const position of older) await this.#overwrite(position);
        return;
      }
      older.push(message.position);
    }
  }

  /** Resolves when no byte of a seal of this entry is left on this server, and no seal can be added. */
  async erase(name: EntryName): Promise<void> {
    let last = await this.#last(name);
    while (last === undefined || !isErased(last.bytes)) {
      await this.#publish(name, ERASED, last?.position ?? NOTHING);
      last = await this.#last(name);
    }
    for (let old = await this.#next(name, 1); old !== undefined && old.position < last.position; ) {
      await this.#overwrite(old.position);
      old = await this.#next(name, 1);
    }
  }

  /** Returns the position; undefined if the last message is not the one at `after`. */
  async #publish(name: EntryName, bytes: Uint8Array, after: number): Promise<number | undefined> {
    const options = { expect: { lastSubjectSequence: after }, timeout: PATIENCE.tryMs };
    try {
      return (await this.#ask(() => this.connection.js.publish(this.#subject(name), bytes, options))).seq;
    } catch (error) {
      if (isRefusal(error, JETSTREAM.wrongLastSequence)) return undefined;
      throw error;
    }
  }

  /** The messages of the entry before the one at `end`, oldest first. */
  async *#messages(name: EntryName, end = Number.POSITIVE_INFINITY): AsyncGenerator<StoredMessage> {
    for (let at = await this.#next(name, 1); at !== undefined && at.position < end; ) {
      yield at;
      at = await this.#next(name, at.position + 1);
    }
  }

  #last(name: EntryName): Promise<StoredMessage | undefined> {
    return this.#read({ last: this.#subject(name) });
  }

  #next(name: EntryName, sequence: number): Promise<StoredMessage | undefined> {
    return this.#read({ sequence, next: this.#subject(name) });
  }

  #read(query: Parameters<typeof readFromLeader>[2]): Promise<StoredMessage | undefined> {
    return this.#ask(() => readFromLeader(this.connection, sealStream(this.number), query, PATIENCE));
  }

  #overwrite(sequence: number): Promise<void> {
    return this.#ask(() => overwriteMessage(this.connection, sealStream(this.number), sequence, PATIENCE));
  }

  async #ask<T>(exchange: () => Promise<T>): Promise<T> {
    const { clock } = this.connection;
    if (clock.monotonicMs() < this.#awayUntilMs) throw unavailable(`the NATS server ${this.name} is away`);
    try {
      return await this.connection.call(exchange);
    } catch (error) {
      const isAway = error instanceof JetStreamRefusal ? error.temporary : error instanceof VouchError;
      if (!isAway) throw error;
      this.#awayUntilMs = clock.monotonicMs() + AWAY_MS;
      throw unavailable(`the NATS server ${this.name} is away`, error);
    }
  }

  #subject({ project, keyId }: EntryName): string {
    return sealSubject(this.number, projectToHex(project), checkKeyId(keyId));
  }
}

function isSealOf({ bytes }: StoredMessage, id: string): boolean {
  const seal = decodeSeal(bytes);
  return seal !== undefined && sealIdOf(seal) === id;
}
