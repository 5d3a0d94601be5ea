/**
 * The seals that one NATS server keeps, in a stream of its own that no other server has a copy of: what is deleted from it
 * is overwritten at once, since no Raft log lies behind it.
 *
 *   nothing ──put──▶ a seal (or several, of writers that met) ──erase──▶ erased, for good
 *
 * A subject is an entry of the vault. Every message names the one before it, so that a seal which comes late finds the
 * mark of the erasure and is refused. The last message of a subject is never deleted: servers before 2.10 lose count of a
 * subject by that. So a seal whose writer was too late stays, over a key that nothing is under, until the erasure.
 */
import type { StreamInfo } from 'nats';
import { unavailable, VouchError } from '../errors.js';
import { readFromLeader, type StoredMessage } from '../log/jetStreamMessages.js';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal } from '../natsError.js';
import { sealStream, sealSubject } from '../subjects.js';
import { checkKeyId, projectToHex } from './entryName.js';
import { decodeSeal, type EntryName, ERASED, encodeSeal, isErased, sealIdOf } from './seal.js';

const NOTHING = 0;
/** A server that is up answers in a millisecond; one that hangs must not hold everybody up. */
const PATIENCE = { tryMs: 1_000, tries: 1 };
/** One that did not answer is not asked for this long. */
const AWAY_MS = 1_000;

export class SealPlace {
  #awayUntilMs = 0;

  /** `place`: from 1. `server`: who holds it; undefined where that was away when the vault was opened. */
  constructor(
    private readonly connection: ClusterConnection,
    private readonly place: number,
    private readonly server: string | undefined,
  ) {}

  get name(): string {
    return this.server === undefined ? `the one that holds ${sealStream(this.place)}` : this.server;
  }

  /** Messages that it holds; undefined while it is away. */
  async count(): Promise<number | undefined> {
    const subject = `$JS.API.STREAM.INFO.${sealStream(this.place)}`;
    const { nc } = this.connection;
    const info = await this.#ask(() => nc.request(subject, '', { timeout: PATIENCE.tryMs })).catch(() => undefined);
    return info?.json<Partial<StreamInfo>>().state?.messages;
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

  /** Undefined where the seal of that id is not here. */
  async find(name: EntryName, id: string): Promise<Uint8Array | 'erased' | undefined> {
    const last = await this.#last(name);
    if (last === undefined) return undefined;
    if (isErased(last.bytes)) return 'erased';
    for (let found: StoredMessage | undefined = last, from = 1; found !== undefined; from = found.position + 1) {
      const seal = decodeSeal(found.bytes);
      if (seal !== undefined && sealIdOf(seal) === id) return seal;
      found = await this.#next(name, from);
      if (found === undefined || found.position >= last.position) return undefined;
    }
    return undefined;
  }

  async traceOf(name: EntryName): Promise<'none' | 'sealed' | 'erased'> {
    const last = await this.#last(name);
    if (last === undefined) return 'none';
    return isErased(last.bytes) ? 'erased' : 'sealed';
  }

  /** Overwrites the seals that came before the one of that id. Those that came after may be of a writer under way. */
  async eraseBefore(name: EntryName, id: string): Promise<void> {
    const older: number[] = [];
    for (
      let found = await this.#next(name, 1);
      found !== undefined;
      found = await this.#next(name, found.position + 1)
    ) {
      const seal = decodeSeal(found.bytes);
      if (seal !== undefined && sealIdOf(seal) === id) {
        for (const position of older) await this.#overwrite(position);
        return;
      }
      older.push(found.position);
    }
  }

  /** Resolves when no byte of a seal of this entry is left here, and none can come any more. */
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

  /** Undefined where the last message is not the one at `after`. */
  async #publish(name: EntryName, bytes: Uint8Array, after: number): Promise<number | undefined> {
    const options = { expect: { lastSubjectSequence: after }, timeout: PATIENCE.tryMs };
    try {
      return (await this.#ask(() => this.connection.js.publish(this.#subject(name), bytes, options))).seq;
    } catch (error) {
      if (isRefusal(error, JETSTREAM.wrongLastSequence)) return undefined;
      throw error;
    }
  }

  #last(name: EntryName): Promise<StoredMessage | undefined> {
    return this.#read({ last: this.#subject(name) });
  }

  #next(name: EntryName, sequence: number): Promise<StoredMessage | undefined> {
    return this.#read({ sequence, next: this.#subject(name) });
  }

  #read(query: Parameters<typeof readFromLeader>[2]): Promise<StoredMessage | undefined> {
    return this.#ask(() => readFromLeader(this.connection, sealStream(this.place), query, PATIENCE));
  }

  async #overwrite(sequence: number): Promise<void> {
    const stream = sealStream(this.place);
    try {
      await this.#ask(() => this.connection.jsm.streams.deleteMessage(stream, sequence, true));
    } catch (error) {
      // Somebody else may have done so meanwhile.
      if (!(error instanceof JetStreamRefusal) || error.temporary) throw error;
      if ((await this.#read({ sequence })) !== undefined) throw error;
    }
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
    return sealSubject(this.place, projectToHex(project), checkKeyId(keyId));
  }
}
