/**
 * One event log in JetStream: a frame is a message, a position is a stream sequence. The server accepts a frame only if the
 * writer names the subject's last message, so one of two writers loses. Every reader skips barriers (see `barrier.ts`) and, in
 * logs of older servers, superseded frames (see `supersededFrames.ts`).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { refusal, unavailable } from '../errors/errors.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { Delivery, IDLE } from '../nats/natsDelivery.js';
import { isRefusal, JETSTREAM, NoJetStream } from '../nats/natsError.js';
import type { Mutex } from '../scheduling/mutex.js';
import { RETRY_MS } from '../scheduling/retry.js';
import { type Barrier, readBarrier, writeBarrier } from './barrier.js';
import {
  type EventLog,
  Fenced,
  FrameUnknown,
  LOG_START,
  LogDamaged,
  type Position,
  type StoredFrame,
} from './eventLog.js';
import {
  isOutcomeUnknown,
  isRetryable,
  readAnywhere,
  readFromLeader,
  type StoredMessage,
} from './jetStreamMessages.js';
import { isSuperseded, sequenceAfter } from './supersededFrames.js';

/** Bytes reserved for headers, and for the envelope of a frame during an export or an import. */
const HEADER_RESERVE_BYTES = 2_560;
/** Time limit of a try, after which its outcome is unknown. */
const TRY_MS = 2_000;
/** Tries of a barrier: a leader that dies with one never answers it. */
const BARRIER_TRIES = 3;
/** Longest time for which a leader that has lost its majority answers as a stale replica: ten seconds, and a margin. */
const STALE_LEADER_MS = 12_000;
/** Largest number of frames that a replay reads one by one. A read takes one round trip; a delivery takes three, and work of the server. */
const SINGLE_READS = 8;

export class JetStreamLog implements EventLog {
  added = 0;
  #closed = false;
  /** A barrier that no read has reached yet. */
  #unread: (Barrier & { readonly position: Position }) | undefined;
  /** The furthest end that a read has reached. */
  #tail: Barrier = { frame: LOG_START, message: LOG_START };

  constructor(
    private readonly connection: ClusterConnection,
    private readonly collectionId: number,
    private readonly at: { readonly stream: string; readonly subject: string },
    private readonly barrierTurn: Mutex,
  ) {}

  get maxFrameBytes(): number {
    return this.connection.maxPayloadBytes - HEADER_RESERVE_BYTES;
  }

  get staleMs(): number {
    return this.#isClustered ? STALE_LEADER_MS : 0;
  }

  get #isClustered(): boolean {
    return this.connection.nc.info?.cluster !== undefined;
  }

  /** Repeats a try whose outcome is unknown. A refusal then means that a frame is already there: ours, or another writer's. */
  async append(frame: Uint8Array, after: Position, deadlineMs: number): Promise<Position> {
    this.#assertUsable();
    if (frame.length > this.maxFrameBytes)
      throw refusal('payload_too_large', 'commit', { bytes: frame.length, max: this.maxFrameBytes });
    let mayBeThere = false;
    let before = this.#tail.frame === after ? this.#tail.message : after;
    for (;;) {
      const leftMs = deadlineMs - this.connection.clock.nowMs();
      if (leftMs <= 0 || this.#over)
        throw unavailable('the log did not confirm the commit in time; its outcome is unknown');
      try {
        return await this.#store(frame, Math.min(leftMs, TRY_MS), before);
      } catch (error) {
        if (error instanceof NoJetStream) await this.#assertStream();
        if (isRefusal(error, JETSTREAM.wrongLastSequence)) {
          const found = await this.#behind(before).catch(() => undefined);
          if (found?.frame && mayBeThere && Buffer.compare(found.frame.bytes, frame) === 0) return found.frame.position;
          if (found?.frame || found?.message === before) throw new Fenced(this.collectionId);
          before = found?.message ?? before;
        } else if (!isRetryable(error)) throw error;
        else mayBeThere ||= isOutcomeUnknown(error);
      }
      await this.connection.untilConnected(leftMs);
      await delay(RETRY_MS.write);
    }
  }

  async barrier(): Promise<void> {
    if (!this.#isClustered) return;
    const { frame, message } = await this.#end();
    const position = await this.barrierTurn.run(() => this.#publishBarrier({ frame, message }));
    this.#unread = { frame, message, position };
  }

  async *read(after: Position): AsyncGenerator<StoredFrame, void, undefined> {
    const unread = this.#unread;
    if (unread !== undefined && unread.position > after) yield* this.#frames(after, unread.position, unread);
    else {
      const last = await this.#lastMessage();
      if (last !== undefined && last.position > after)
        yield* this.#frames(after, last.position, readBarrier(last.bytes));
    }
    if (this.#unread === unread) this.#unread = undefined;
  }

  async readAt(position: Position): Promise<Uint8Array> {
    const found = await this.#messageAt(position);
    if (found === undefined) throw new FrameUnknown(this.collectionId, position);
    if (found.subject !== this.at.subject) throw new LogDamaged(this.collectionId, `it has no frame at ${position}`);
    return found.bytes;
  }

  async head(): Promise<StoredFrame | undefined> {
    const { frame: position, bytes } = await this.#end();
    if (position === LOG_START) return undefined;
    const known = bytes ?? (await this.#messageAt(position))?.bytes;
    return known && { position, bytes: known };
  }

  /** Not needed: a frame is a message. */
  async endSegment(): Promise<void> {}

  async trim(position: Position): Promise<void> {
    this.#assertUsable();
    const { connection } = this;
    const { stream, subject } = this.at;
    await connection.call(() => connection.jsm.streams.purge(stream, { filter: subject, seq: position }));
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  /** `bytes`: of the last frame, if they had to be read. */
  async #end(): Promise<Barrier & { readonly bytes?: Uint8Array }> {
    const last = await this.#lastMessage();
    if (last === undefined) return { frame: LOG_START, message: LOG_START };
    const { position: message, bytes } = last;
    const barrier = readBarrier(bytes);
    if (barrier === undefined) return { frame: message, message, bytes };
    let frame: StoredFrame | undefined;
    for await (const next of this.#frames(barrier.frame, message, barrier)) frame = next;
    return { frame: frame?.position ?? barrier.frame, message, ...(frame && { bytes: frame.bytes }) };
  }

  /** The frames after `after`, up to the message at `last`. `known`: an end of the log before that. */
  async *#frames(
    after: Position,
    last: Position,
    known: Barrier | undefined,
  ): AsyncGenerator<StoredFrame, void, undefined> {
    const { collectionId } = this;
    let next: number | undefined;
    let frame = after;
    let message = known?.frame === after ? known.message : after;
    for await (const { position, bytes } of this.#replay(message, last)) {
      this.#assertUsable();
      message = position;
      if (readBarrier(bytes) !== undefined) continue;
      next ??= await this.#sequenceAt(frame);
      if (await isSuperseded(bytes, next)) {
        this.connection.logger.warn({ collectionId, position }, 'a superseded frame is skipped');
        continue;
      }
      next = sequenceAfter(bytes) ?? next;
      frame = position;
      yield { position, bytes };
    }
    this.#tail = { frame, message };
  }

  /** Asks the leader, since other replicas are often behind. Even a leader may be stale: only a barrier ends a replay for certain. */
  async #lastMessage(): Promise<StoredFrame | undefined> {
    this.#assertUsable();
    const { subject } = this.at;
    const last = await readFromLeader(this.connection, this.at.stream, { last: subject }).catch(
      async (error: unknown) => {
        await this.#assertStream();
        throw error;
      },
    );
    return last && { position: last.position, bytes: last.bytes };
  }

  async #messageAt(position: Position): Promise<StoredMessage | undefined> {
    this.#assertUsable();
    const query = { sequence: position };
    // Any replica may have the message; only the leader knows that it does not exist.
    return (
      (await readAnywhere(this.connection, this.at.stream, query)) ??
      (await readFromLeader(this.connection, this.at.stream, query))
    );
  }

  get #over(): boolean {
    return this.#closed || this.connection.closed;
  }

  /** Stores a barrier. Throws VouchError `unavailable`; the barrier may be stored all the same, more than once. */
  async #publishBarrier(end: Barrier): Promise<Position> {
    for (let left = BARRIER_TRIES; ; left--) {
      try {
        return await this.#store(writeBarrier(end), TRY_MS);
      } catch (error) {
        if (left === 1 || this.#over || !isRetryable(error)) throw error;
        await delay(RETRY_MS.write);
      }
    }
  }

  /** `after`: the position of the last message; absent: any. */
  async #store(message: Uint8Array, withinMs: number, after?: Position): Promise<Position> {
    const position = await this.connection.streams.publish(this.at.subject, message, { withinMs, after });
    this.added++;
    return position;
  }

  /** The first frame after the message at `before`, and the last barrier between them; `before` without a barrier. */
  async #behind(before: Position): Promise<{ readonly message: Position; readonly frame: StoredFrame | undefined }> {
    for (let message = before; ; ) {
      const next = await readFromLeader(this.connection, this.at.stream, {
        sequence: message + 1,
        next: this.at.subject,
      });
      if (next === undefined || readBarrier(next.bytes) === undefined) return { message, frame: next };
      message = next.position;
    }
  }

  /** The sequence that follows the frame at `after`; 0 if that frame is gone, once no stale replica can be the cause. */
  async #sequenceAt(after: Position): Promise<number> {
    if (after === LOG_START) return 0;
    const { clock } = this.connection;
    const goneMs = clock.monotonicMs() + this.staleMs;
    for (;;) {
      const found = await this.#messageAt(after);
      if (found !== undefined) return (found.subject === this.at.subject ? sequenceAfter(found.bytes) : undefined) ?? 0;
      if (clock.monotonicMs() >= goneMs) return 0;
      await delay(RETRY_MS.shortLog);
    }
  }

  /** The messages after `after` up to the one at `last`, which exists. Throws VouchError `unavailable`. */
  async *#replay(after: Position, last: Position): AsyncGenerator<StoredFrame, void, undefined> {
    const { connection } = this;
    const { stream, subject } = this.at;
    let position = after;
    for (let reads = 0; reads < SINGLE_READS && position < last; reads++) {
      const frame = await readAnywhere(connection, stream, { sequence: position + 1, next: subject });
      // A stale replica does not have the frame yet; the delivery waits for it.
      if (!frame) break;
      yield { position: frame.position, bytes: frame.bytes };
      position = frame.position;
    }
    if (position >= last) return;
    for await (const item of await Delivery.start(connection, { stream, subject, from: position + 1 })) {
      // No message before the end: the frame or the collection is gone, or this replica is stale by more than a second.
      if (item === IDLE) throw unavailable('the log could not be read to its end; retry shortly');
      yield { position: item.sequence, bytes: item.message.data };
      if (item.sequence >= last) return;
    }
  }

  /** Throws `unavailable` if JetStream lacks the stream: it was removed, or the server is still starting. */
  async #assertStream(): Promise<void> {
    const { connection, collectionId } = this;
    const { stream } = this.at;
    try {
      await connection.call(() => connection.jsm.streams.info(stream));
    } catch (error) {
      if (!isRefusal(error, JETSTREAM.streamNotFound)) return;
      connection.logger.error({ collectionId, stream }, 'the stream of a log is gone from JetStream');
      throw unavailable(
        `JetStream has no stream ${stream}, which holds this collection's log; put it back from a backup`,
      );
    }
  }

  #assertUsable(): void {
    if (this.#closed) throw unavailable(`the log of collection ${this.collectionId} is closed`);
    if (!this.connection.connected) throw this.connection.down();
  }
}
