/**
 * The seals on one NATS server, in a stream without replicas. Without a Raft log, a deleted message is overwritten at once.
 *
 * ```text
 * nothing ──put──▶ a seal (or several, of concurrent writers) ──close──▶ an erasure mark ──erase, each half──▶ that mark
 * ```
 *
 * A subject is an entry of the vault. Every message names its predecessor, so a late seal is refused after the mark. The seal of
 * a late writer stays until the erasure, over a key that is not in use.
 *
 * A server first records that a message is deleted, and then overwrites it. If it is killed in between, no reader finds the
 * message, and its bytes stay. So the mark counts the messages of each half. The half is gone when the server has confirmed that
 * each of them is overwritten.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { StreamInfo } from 'nats';
import { unavailable, VouchError } from '../errors/errors.js';
import { overwriteMessage, readFromLeader, type StoredMessage } from '../log/jetStreamMessages.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal } from '../nats/natsError.js';
import { sealStream, sealSubject } from '../transport/subjects.js';
import { checkKeyId, type EntryName, projectToHex } from './entryName.js';
import {
  decodeErased,
  decodeSeal,
  encodeErased,
  encodeSeal,
  HALVES,
  type Half,
  isErased,
  type LeftHalves,
  type Seal,
  sealIdOf,
  UNKNOWN,
} from './seal.js';

const NOTHING = 0;
/** A short limit: a live server answers in a millisecond, and one that hangs must not delay the others. */
const PATIENCE = { tryMs: 1_000, tries: 1 };
/** Pause after a server did not answer. */
const AWAY_MS = 1_000;
/** Time in which another process that is erasing a half records that it is gone. */
const OTHER_MS = 3_000;
const POLL_MS = 50;

/** An erasure mark, and its position. */
interface ErasureMark {
  readonly position: number;
  readonly left: LeftHalves;
}

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

  /** Resolves when all parts of the seal are stored. */
  async put(name: EntryName, seal: Seal): Promise<'stored' | 'erased'> {
    let after: number | 'erased' = NOTHING;
    for (const [part, bytes] of encodeSeal(seal).entries()) {
      after = await this.#putPart(name, bytes, sealIdOf(seal[part]!), after);
      if (after === 'erased') return 'erased';
    }
    return 'stored';
  }

  /** The part of a seal with this id. Undefined if this server lacks it. */
  async find(name: EntryName, id: string): Promise<Uint8Array | 'erased' | undefined> {
    const last = await this.#last(name);
    if (last === undefined) return undefined;
    if (isErased(last.bytes)) return 'erased';
    const found = keyIn(last, id);
    if (found !== undefined) return found;
    for await (const message of this.#messages(name, last.position)) {
      const key = keyIn(message, id);
      if (key !== undefined) return key;
    }
    return undefined;
  }

  async traceOf(name: EntryName): Promise<'none' | 'sealed' | 'erased'> {
    const last = await this.#last(name);
    if (last === undefined) return 'none';
    return isErased(last.bytes) ? 'erased' : 'sealed';
  }

  /** Overwrites the seals before the one with these parts. Later ones may belong to a concurrent writer. */
  async eraseBefore(name: EntryName, ids: readonly string[]): Promise<void> {
    const older: number[] = [];
    for await (const message of this.#messages(name)) {
      if (ids.some((id) => keyIn(message, id) !== undefined)) {
        for (const position of older) await this.#overwrite(position);
        return;
      }
      older.push(message.position);
    }
  }

  /** Stores the erasure mark, unless there is one. No seal can be added after it. */
  async close(name: EntryName): Promise<ErasureMark> {
    for (;;) {
      const last = await this.#last(name);
      const found = last && decodeErased(last.bytes);
      if (last !== undefined && found !== undefined) return { position: last.position, left: found };
      const [firsts, seconds] = await Promise.all(HALVES.map((half) => this.#ofHalf(name, half)));
      const left: LeftHalves = [firsts!.length, seconds!.length];
      const position = await this.#publish(name, encodeErased(left), last?.position ?? NOTHING);
      if (position !== undefined) return { position, left };
    }
  }

  /**
   * Overwrites that half of each seal. False if an erasure of it was interrupted. Its bytes may then be in a file.
   * `isAwaited`: whether another process gets the time to finish its erasure.
   */
  async erase(name: EntryName, half: Half, isAwaited: boolean): Promise<boolean> {
    const { left } = await this.close(name);
    if (left[half] === 0) return true;
    const positions = await this.#ofHalf(name, half);
    let isConfirmed = positions.length === left[half];
    for (const position of positions) isConfirmed = (await this.#overwrite(position)) && isConfirmed;
    if (!isConfirmed && isAwaited && left[half] !== UNKNOWN && (await this.#isErasedByAnother(name, half))) return true;
    await this.#record(name, half, isConfirmed ? 0 : UNKNOWN);
    return isConfirmed;
  }

  /** Removes earlier marks, whose bytes may stay. */
  async tidy(name: EntryName): Promise<void> {
    const { position } = await this.close(name);
    const { streams } = this.connection.jsm;
    for (let old = await this.#next(name, 1); old !== undefined && old.position < position; ) {
      const { position: earlier } = old;
      const isRemoved = this.#ask(() => streams.deleteMessage(sealStream(this.number), earlier, false));
      // Another process removes them too.
      await isRemoved.catch((error: unknown) => {
        if (!(error instanceof JetStreamRefusal)) throw error;
      });
      old = await this.#next(name, earlier + 1);
    }
  }

  /** Records that remains of the seals on this server open nothing. */
  async writeOff(name: EntryName): Promise<void> {
    const { left } = await this.close(name);
    for (const half of HALVES) if (left[half] === UNKNOWN) await this.#record(name, half, 0);
  }

  /** Returns the position of the entry's last message. `after`: where it is expected to be before. */
  async #putPart(name: EntryName, bytes: Uint8Array, id: string, after: number): Promise<number | 'erased'> {
    for (let expected = after; ; ) {
      const position = await this.#publish(name, bytes, expected);
      if (position !== undefined) return position;
      const found = await this.find(name, id);
      if (found === 'erased') return 'erased';
      expected = (await this.#last(name))?.position ?? NOTHING;
      if (found !== undefined) return expected;
    }
  }

  /** Positions of the messages with that half. Bytes that are not a seal may be a damaged one, and count as both halves. */
  async #ofHalf(name: EntryName, half: Half): Promise<readonly number[]> {
    const positions: number[] = [];
    for await (const { position, bytes } of this.#messages(name))
      if (!isErased(bytes) && (decodeSeal(bytes)?.halves ?? HALVES).includes(half)) positions.push(position);
    return positions;
  }

  async #isErasedByAnother(name: EntryName, half: Half): Promise<boolean> {
    const { clock } = this.connection;
    const giveUpMs = clock.monotonicMs() + OTHER_MS;
    for (;;) {
      const { left } = await this.close(name);
      if (left[half] === 0 || left[half] === UNKNOWN || clock.monotonicMs() >= giveUpMs) return left[half] === 0;
      await delay(POLL_MS);
    }
  }

  /** Stores the number in the mark. The confirmation of another process stays. */
  async #record(name: EntryName, half: Half, count: 0 | typeof UNKNOWN): Promise<void> {
    for (;;) {
      const { position, left } = await this.close(name);
      if (left[half] === 0 || left[half] === count) return;
      const now: LeftHalves = half === 0 ? [count, left[1]] : [left[0], count];
      if ((await this.#publish(name, encodeErased(now), position)) !== undefined) return;
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

  #overwrite(sequence: number): Promise<boolean> {
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

function keyIn({ bytes }: StoredMessage, id: string): Uint8Array | undefined {
  const key = decodeSeal(bytes)?.key;
  return key !== undefined && sealIdOf(key) === id ? key : undefined;
}
