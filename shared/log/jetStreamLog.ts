/**
 * One event log in JetStream: a frame is a message, a position is a stream sequence. The server accepts a frame only if the
 * subject's last message is the one that the writer names, so of two writers one loses; where the server accepted both, the later
 * one loses (see `supersededFrames.ts`). Barriers stand between the frames (see `barrier.ts`).
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { JetStreamPublishOptions } from 'nats';
import { unavailable, VouchError } from '../errors/errors.js';
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
import { continues, isSuperseded, sequenceAfter } from './supersededFrames.js';

/** Reserved for headers, and for the envelope of a frame at an export or an import. */
const HEADER_RESERVE_BYTES = 2_560;
/** Time limit of a try, after which its outcome is unknown. */
const TRY_MS = 2_000;
/** Tries of a barrier: a leader that dies with one never answers it. */
const BARRIER_TRIES = 3;
/** A deposed leader without contact steps down after ten seconds; until then it answers from what it has. */
const DEPOSED_MS = 12_000;
/** Frames that a replay reads one by one: a read takes a round trip, a delivery three, and work of the server. */
const SINGLE_READS = 8;

export class JetStreamLog implements EventLog {
  added = 0;
  private closed = false;
  /** Whether an earlier append, of this process or another, may still be in flight between the servers. */
  private mayBeInFlight = true;
  /** A barrier that no read has come to yet. */
  private unread: (Barrier & { readonly position: Position }) | undefined;
  /** As far as a read has come. */
  private tail: Barrier = { frame: LOG_START, message: LOG_START };

  constructor(
    private readonly connection: ClusterConnection,
    private readonly collectionId: number,
    private readonly stream: string,
    private readonly subject: string,
    private readonly barrierTurn: Mutex,
  ) {}

  get maxFrameBytes(): number {
    return this.connection.maxPayloadBytes - HEADER_RESERVE_BYTES;
  }

  get staleMs(): number {
    return this.isClustered ? DEPOSED_MS : 0;
  }

  private get isClustered(): boolean {
    return this.connection.nc.info?.cluster !== undefined;
  }

  /**
   * Repeats a try whose outcome is unknown; a refusal then means that a frame is there already, ours or another's. The
   * first append, and any after such a try, is read back before it counts: see `supersededFrames.ts`.
   */
  async append(frame: Uint8Array, after: Position, deadlineMs: number): Promise<Position> {
    this.assertUsable();
    if (frame.length > this.maxFrameBytes)
      throw new VouchError('payload_too_large', `a commit of ${frame.length} bytes is larger than NATS takes`);
    let mayBeThere = false;
    let before = this.tail.frame === after ? this.tail.message : after;
    for (;;) {
      const leftMs = deadlineMs - this.connection.clock.nowMs();
      if (leftMs <= 0 || this.over) throw unavailable('whether the commit took place could not be learned in time');
      try {
        const position = await this.publish(frame, before, Math.min(leftMs, TRY_MS));
        if (!this.mayBeInFlight) return position;
        mayBeThere = true;
        return await this.confirmed(frame, before);
      } catch (error) {
        if (error instanceof Fenced) throw error;
        if (error instanceof NoJetStream) await this.assertStream();
        if (isRefusal(error, JETSTREAM.wrongLastSequence)) {
          const settled = mayBeThere ? await this.ownFrame(frame, before) : 'none';
          if (typeof settled === 'number') return settled;
          if (settled === 'none') {
            const last = await this.lastBehind(after, deadlineMs);
            if (last === before) throw new Fenced(this.collectionId);
            before = last;
          }
        } else if (isRetryable(error)) mayBeThere ||= isOutcomeUnknown(error);
        else throw error;
        this.mayBeInFlight = true;
      }
      await this.connection.untilConnected(leftMs);
      await delay(RETRY_MS.write);
    }
  }

  async barrier(): Promise<void> {
    if (!this.isClustered) return;
    const { frame, message } = await this.end();
    const position = await this.barrierTurn.run(() => this.publishBarrier({ frame, message }));
    this.unread = { frame, message, position };
  }

  async *read(after: Position): AsyncGenerator<StoredFrame, void, undefined> {
    const { unread } = this;
    if (unread !== undefined && unread.position > after) yield* this.frames(after, unread.position, unread);
    else {
      const last = await this.lastMessage();
      if (last !== undefined && last.position > after)
        yield* this.frames(after, last.position, readBarrier(last.bytes));
    }
    if (this.unread === unread) this.unread = undefined;
  }

  async readAt(position: Position): Promise<Uint8Array> {
    const found = await this.messageAt(position);
    if (found === undefined) throw new FrameUnknown(this.collectionId, position);
    if (found.subject !== this.subject) throw new LogDamaged(this.collectionId, `it has no frame at ${position}`);
    return found.bytes;
  }

  async head(): Promise<StoredFrame | undefined> {
    const { frame: position, message, bytes } = await this.end();
    if (position === LOG_START) return undefined;
    const known = bytes ?? (await this.ownMessage(position));
    if (known !== undefined) return { position, bytes: known };
    // Servers before 2.11 may have numbered it anew.
    const end = await this.endOfAll(message);
    return end.bytes && { position: end.frame, bytes: end.bytes };
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  /** `bytes`: of the last frame, where they had to be read. */
  private async end(): Promise<Barrier & { readonly bytes?: Uint8Array }> {
    const last = await this.lastMessage();
    if (last === undefined) return { frame: LOG_START, message: LOG_START };
    const { position: message, bytes } = last;
    const barrier = readBarrier(bytes);
    if (barrier === undefined) return { frame: message, message, bytes };
    let frame: StoredFrame | undefined;
    for await (const next of this.replay(barrier.message, message)) {
      if (readBarrier(next.bytes) !== undefined) continue;
      const before = frame?.bytes ?? (await this.ownMessage(barrier.frame));
      // One of the two is superseded, and only a reader of all can tell which.
      if (!continues(next.bytes, before)) return { ...(await this.endOfAll(message)), message };
      frame = next;
    }
    return { frame: frame?.position ?? barrier.frame, message, ...(frame && { bytes: frame.bytes }) };
  }

  /** The last frame up to the message at `last`. */
  private async endOfAll(last: Position): Promise<{ readonly frame: Position; readonly bytes?: Uint8Array }> {
    let end: StoredFrame | undefined;
    for await (const frame of this.frames(LOG_START, last, undefined)) end = frame;
    return end === undefined ? { frame: LOG_START } : { frame: end.position, bytes: end.bytes };
  }

  /** The frames after `after`, up to the message at `last`. `known`: an end of the log before that. */
  private async *frames(
    after: Position,
    last: Position,
    known: Barrier | undefined,
  ): AsyncGenerator<StoredFrame, void, undefined> {
    const { collectionId } = this;
    let next: number | undefined;
    let frame = after;
    let message = known?.frame === after ? known.message : after;
    for await (const { position, bytes } of this.replay(message, last)) {
      this.assertUsable();
      message = position;
      if (readBarrier(bytes) !== undefined) continue;
      next ??= await this.sequenceAt(frame);
      if (await isSuperseded(bytes, next)) {
        this.connection.logger.warn({ collectionId, position }, 'a superseded frame is skipped');
        continue;
      }
      next = sequenceAfter(bytes) ?? next;
      frame = position;
      yield { position, bytes };
    }
    this.tail = { frame, message };
  }

  /** Asks the leader: a replica that lags would end a replay too early. */
  private async lastMessage(): Promise<StoredFrame | undefined> {
    this.assertUsable();
    const { subject } = this;
    const last = await readFromLeader(this.connection, this.stream, { last: subject }).catch(async (error: unknown) => {
      await this.assertStream();
      throw error;
    });
    return last && { position: last.position, bytes: last.bytes };
  }

  /** Undefined where the message there is none of this log. */
  private async ownMessage(position: Position): Promise<Uint8Array | undefined> {
    if (position === LOG_START) return undefined;
    const found = await this.messageAt(position);
    return found?.subject === this.subject ? found.bytes : undefined;
  }

  private async messageAt(position: Position): Promise<StoredMessage | undefined> {
    this.assertUsable();
    const query = { sequence: position };
    // Any replica may have it; only the leader knows that there is none.
    return (
      (await readAnywhere(this.connection, this.stream, query)) ??
      (await readFromLeader(this.connection, this.stream, query))
    );
  }

  private get over(): boolean {
    return this.closed || this.connection.closed;
  }

  /**
   * A cluster checks the expectation of an empty log when it stores the frame, and servers before 2.11 miscount such
   * refusals at a restart: they store their newest messages again. So a first frame expects nothing there: it is read
   * back, and is superseded where another was first.
   */
  private async publish(frame: Uint8Array, after: Position, timeoutMs: number): Promise<Position> {
    const expect = after === LOG_START && this.isClustered ? {} : { expect: { lastSubjectSequence: after } };
    return this.store(frame, { ...expect, timeout: timeoutMs });
  }

  /** Throws VouchError `unavailable`; it may be stored all the same, more than once. */
  private async publishBarrier(end: Barrier): Promise<Position> {
    for (let left = BARRIER_TRIES; ; left--) {
      try {
        return await this.store(writeBarrier(end), { timeout: TRY_MS });
      } catch (error) {
        if (left === 1 || this.over || !isRetryable(error)) throw error;
        await delay(RETRY_MS.write);
      }
    }
  }

  private async store(message: Uint8Array, options: Partial<JetStreamPublishOptions>): Promise<Position> {
    const { connection, subject } = this;
    const { seq } = await connection.call(() => connection.js.publish(subject, message, options));
    this.added++;
    return seq;
  }

  /** The position of the frame if an earlier try has stored it: directly after `before`. */
  private async ownFrame(frame: Uint8Array, before: Position): Promise<Position | 'none' | 'unknown'> {
    try {
      const found = await this.firstFrameAfter(before);
      return found && Buffer.compare(found.bytes, frame) === 0 ? found.position : 'none';
    } catch {
      return 'unknown';
    }
  }

  /** The position of our frame if it is the first after `before`. Throws Fenced where another is. */
  private async confirmed(frame: Uint8Array, before: Position): Promise<Position> {
    const first = await this.firstFrameAfter(before);
    if (first === undefined) throw unavailable('the commit could not be read back; retry shortly');
    if (Buffer.compare(first.bytes, frame) !== 0) throw new Fenced(this.collectionId);
    this.mayBeInFlight = false;
    return first.position;
  }

  /** The last of the barriers and superseded frames directly after the frame at `after`; `after` where there are none. */
  private async lastBehind(after: Position, deadlineMs: number): Promise<Position> {
    const end = await this.lastMessage();
    const known = end && readBarrier(end.bytes);
    let sequence: number | undefined;
    for (let last = known?.frame === after ? known.message : after; ; ) {
      const next = await this.firstAfter(last);
      if (next === undefined) return last;
      if (readBarrier(next.bytes) === undefined) {
        sequence ??= await this.sequenceAt(after, deadlineMs);
        if (!(await isSuperseded(next.bytes, sequence))) return last;
      }
      last = next.position;
    }
  }

  /**
   * The sequence that follows the frame at `after`; 0 where that is gone, once no server may answer that does not know it. Throws
   * VouchError `unavailable` at the deadline.
   */
  private async sequenceAt(after: Position, deadlineMs = Number.POSITIVE_INFINITY): Promise<number> {
    if (after === LOG_START) return 0;
    const { clock } = this.connection;
    const goneMs = clock.monotonicMs() + this.staleMs;
    for (;;) {
      const found = await this.messageAt(after);
      if (found !== undefined) return (found.subject === this.subject ? sequenceAfter(found.bytes) : undefined) ?? 0;
      if (clock.monotonicMs() >= goneMs) return 0;
      if (clock.nowMs() >= deadlineMs) throw unavailable('the end of the log could not be read in time');
      await delay(RETRY_MS.shortLog);
    }
  }

  private async firstFrameAfter(position: Position): Promise<StoredFrame | undefined> {
    let first = await this.firstAfter(position);
    while (first !== undefined && readBarrier(first.bytes) !== undefined) first = await this.firstAfter(first.position);
    return first;
  }

  private firstAfter(position: Position): Promise<StoredFrame | undefined> {
    return readFromLeader(this.connection, this.stream, { sequence: position + 1, next: this.subject });
  }

  /** The messages after `after` up to the one at `last`, which exists. Throws VouchError `unavailable`. */
  private async *replay(after: Position, last: Position): AsyncGenerator<StoredFrame, void, undefined> {
    const { connection, stream, subject } = this;
    let position = after;
    for (let reads = 0; reads < SINGLE_READS && position < last; reads++) {
      const frame = await readAnywhere(connection, stream, { sequence: position + 1, next: subject });
      // A replica that lags does not have it yet; the delivery waits for it.
      if (!frame) break;
      yield { position: frame.position, bytes: frame.bytes };
      position = frame.position;
    }
    if (position >= last) return;
    for await (const item of await Delivery.start(connection, { stream, subject, from: position + 1 })) {
      // Silence before the end: the frame is gone, as the collection may be, or this replica lags by more than a second.
      if (item === IDLE) throw unavailable('the log could not be read to its end; retry shortly');
      yield { position: item.sequence, bytes: item.message.data };
      if (item.sequence >= last) return;
    }
  }

  /** Throws `unavailable` where JetStream has no such stream: it was removed, or the server is still starting. */
  private async assertStream(): Promise<void> {
    const { connection, collectionId, stream } = this;
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

  private assertUsable(): void {
    if (this.closed) throw unavailable(`the log of collection ${this.collectionId} is closed`);
    if (!this.connection.connected) throw this.connection.down();
  }
}
