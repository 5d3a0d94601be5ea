/**
 * The event logs in JetStream: a collection is a subject, a frame is a message, a position is a stream sequence. The
 * server takes a frame only where the subject's last message is the one that the writer names, so of two writers one
 * loses; where the server let both in, the later one does (see `lostFrames.ts`).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable, VouchError } from '../errors.js';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal, NoJetStream } from '../natsError.js';
import { logPart, logStream, logSubject } from '../subjects.js';
import {
  type EventLog,
  type EventLogs,
  Fenced,
  LOG_START,
  LogDamaged,
  type Position,
  type StoredFrame,
} from './eventLog.js';
import { readAnywhere, readFromLeader } from './jetStreamMessages.js';
import { type ReplaySource, replay } from './jetStreamReplay.js';
import { hasLost, sequenceAfter } from './lostFrames.js';

/** Room for the headers, and for what stands around a frame that travels between processes at an export or an import. */
const HEADER_ROOM_BYTES = 2_560;
/** How long a try may take before its outcome counts as unknown. */
const TRY_MS = 2_000;
const BETWEEN_TRIES_MS = 50;
/** A leader that was deposed and hears of no other steps down after ten seconds; until then it answers what it knows. */
const DEPOSED_MS = 12_000;

export class JetStreamLogs implements EventLogs {
  constructor(
    private readonly connection: ClusterConnection,
    private readonly streams: number,
  ) {}

  async open(collectionId: number): Promise<EventLog> {
    if (!this.connection.connected) throw this.connection.down();
    return new JetStreamLog(this.connection, collectionId, this.streams);
  }

  async remove(collectionId: number): Promise<void> {
    const { connection } = this;
    const stream = logStream(logPart(collectionId, this.streams));
    const filter = logSubject(collectionId, this.streams);
    await connection.call(() => connection.jsm.streams.purge(stream, { filter }));
  }
}

class JetStreamLog implements EventLog {
  private readonly source: ReplaySource;
  private closed = false;
  /** Whether an append of an earlier time, of this process or another's, may still be under way between the servers. */
  private mayBeUnderWay = true;

  constructor(
    private readonly connection: ClusterConnection,
    private readonly collectionId: number,
    streams: number,
  ) {
    this.source = {
      stream: logStream(logPart(collectionId, streams)),
      subject: logSubject(collectionId, streams),
    };
  }

  get maxFrameBytes(): number {
    return this.connection.maxPayloadBytes - HEADER_ROOM_BYTES;
  }

  get staleMs(): number {
    return this.isClustered ? DEPOSED_MS : 0;
  }

  private get isClustered(): boolean {
    return this.connection.nc.info?.cluster !== undefined;
  }

  /**
   * A try whose outcome is unknown is made again; a refusal then says that something stands there, which is either our
   * frame or another's. The first append, and any after such a try, is read back before it counts: see `lostFrames.ts`.
   */
  async append(frame: Uint8Array, after: Position, deadlineMs: number): Promise<Position> {
    this.assertUsable();
    if (frame.length > this.maxFrameBytes)
      throw new VouchError('payload_too_large', `a commit of ${frame.length} bytes is larger than NATS takes`);
    let mayBeThere = false;
    let before = after;
    for (;;) {
      const leftMs = deadlineMs - this.connection.clock.nowMs();
      if (leftMs <= 0 || this.over) throw unavailable('whether the commit took place could not be learned in time');
      try {
        const position = await this.publish(frame, before, Math.min(leftMs, TRY_MS));
        if (!this.mayBeUnderWay) return position;
        mayBeThere = true;
        return await this.confirmed(frame, before);
      } catch (error) {
        if (error instanceof Fenced) throw error;
        if (error instanceof NoJetStream) await this.assertStream();
        if (isRefusal(error, JETSTREAM.wrongLastSequence)) {
          const settled = mayBeThere ? await this.ownFrame(frame, before) : 'none';
          if (typeof settled === 'number') return settled;
          if (settled === 'none') {
            const lost = await this.lastLost(after);
            if (lost === before) throw new Fenced(this.collectionId);
            before = lost;
          }
        } else if (isWorthAnotherTry(error)) mayBeThere ||= isOutcomeUnknown(error);
        else throw error;
        this.mayBeUnderWay = true;
      }
      await this.connection.untilConnected(leftMs);
      await delay(BETWEEN_TRIES_MS);
    }
  }

  async *read(after: Position): AsyncGenerator<StoredFrame, void, undefined> {
    const last = await this.head();
    if (!last || last.position <= after) return;
    let nextSequence = await this.sequenceAt(after);
    for await (const frame of replay(this.connection, this.source, after, last.position)) {
      this.assertUsable();
      if (await hasLost(frame.bytes, nextSequence)) {
        const { collectionId } = this;
        this.connection.logger.warn({ collectionId, position: frame.position }, 'a frame that lost is passed over');
        continue;
      }
      nextSequence = sequenceAfter(frame.bytes) ?? nextSequence;
      yield frame;
    }
  }

  async readAt(position: Position): Promise<Uint8Array> {
    this.assertUsable();
    const { stream, subject } = this.source;
    const query = { sequence: position };
    // Any replica will do for a frame that is there; whether there is none, only the leader can say.
    const found =
      (await readAnywhere(this.connection, stream, query)) ?? (await readFromLeader(this.connection, stream, query));
    if (found?.subject !== subject) throw new LogDamaged(this.collectionId, `it has no frame at ${position}`);
    return found.bytes;
  }

  /** From the leader: a replica that lags would end a replay too early. */
  async head(): Promise<StoredFrame | undefined> {
    this.assertUsable();
    const { stream, subject } = this.source;
    const last = await readFromLeader(this.connection, stream, { last: subject }).catch(async (error: unknown) => {
      await this.assertStream();
      throw error;
    });
    return last && { position: last.position, bytes: last.bytes };
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  private get over(): boolean {
    return this.closed || this.connection.closed;
  }

  /**
   * That a log is empty, a cluster checks when the frame is stored; and what is refused then, servers before 2.11 miscount
   * when they start again: they store their newest messages once more. So nothing is expected of a first frame there: it is
   * read back, and where another was first it has lost.
   */
  private async publish(frame: Uint8Array, after: Position, timeoutMs: number): Promise<Position> {
    const { js } = this.connection;
    const expect = after === LOG_START && this.isClustered ? {} : { expect: { lastSubjectSequence: after } };
    const options = { ...expect, timeout: timeoutMs };
    const stored = await this.connection.call(() => js.publish(this.source.subject, frame, options));
    return stored.seq;
  }

  /** Where the frame stands if an earlier try has put it there: right behind `before`, whatever has followed since. */
  private async ownFrame(frame: Uint8Array, before: Position): Promise<Position | 'none' | 'unknown'> {
    try {
      const found = await this.firstAfter(before);
      return found && Buffer.compare(found.bytes, frame) === 0 ? found.position : 'none';
    } catch {
      return 'unknown';
    }
  }

  /** A frame was taken behind `before`: where ours stands, if it is the first there. Throws Fenced where another is. */
  private async confirmed(frame: Uint8Array, before: Position): Promise<Position> {
    const first = await this.firstAfter(before);
    if (first === undefined) throw unavailable('what was committed could not be read back; retry shortly');
    if (Buffer.compare(first.bytes, frame) !== 0) throw new Fenced(this.collectionId);
    this.mayBeUnderWay = false;
    return first.position;
  }

  /** The last of the frames directly behind the one at `after` that have lost against it; `after` where there are none. */
  private async lastLost(after: Position): Promise<Position> {
    const nextSequence = await this.sequenceAt(after);
    for (let last = after; ; ) {
      const next = await this.firstAfter(last);
      if (next === undefined || !(await hasLost(next.bytes, nextSequence))) return last;
      last = next.position;
    }
  }

  /** Which sequence comes behind the frame at `after`. */
  private async sequenceAt(after: Position): Promise<number> {
    if (after === LOG_START) return 0;
    const { stream, subject } = this.source;
    const frame = await readFromLeader(this.connection, stream, { sequence: after });
    return (frame?.subject === subject ? sequenceAfter(frame.bytes) : undefined) ?? 0;
  }

  private firstAfter(position: Position): Promise<StoredFrame | undefined> {
    const { stream, subject } = this.source;
    return readFromLeader(this.connection, stream, { sequence: position + 1, next: subject });
  }

  /**
   * Throws `unavailable` where JetStream says that there is no such stream: somebody has removed it. That is no damage yet:
   * a server that is still starting may say so too.
   */
  private async assertStream(): Promise<void> {
    const { connection, collectionId } = this;
    const { stream } = this.source;
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

const isWorthAnotherTry = (error: unknown): boolean =>
  error instanceof JetStreamRefusal ? error.temporary : error instanceof VouchError && error.code === 'unavailable';

const isOutcomeUnknown = (error: unknown): boolean =>
  !(error instanceof JetStreamRefusal) && !(error instanceof NoJetStream);
