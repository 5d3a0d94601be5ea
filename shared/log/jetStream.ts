/**
 * The event logs in JetStream: a collection is a subject, a frame is a message, a position is a stream sequence. The
 * server takes a frame only where the subject's last message is the one that the writer names, so of two writers one
 * always loses.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable, VouchError } from '../errors.js';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal, NoJetStream } from '../natsError.js';
import { logPart, logStream, logSubject } from '../subjects.js';
import { type EventLog, type EventLogs, Fenced, LogDamaged, type Position, type StoredFrame } from './eventLog.js';
import { readAnywhere, readFromLeader } from './jetStreamMessages.js';
import { type ReplaySource, replay } from './jetStreamReplay.js';

/** Room for the header that names the expected sequence. */
const HEADER_ROOM_BYTES = 128;
/** How long a try may take before its outcome counts as unknown. */
const TRY_MS = 2_000;
const BETWEEN_TRIES_MS = 50;

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

  /**
   * A try whose outcome is unknown is made again: the expected sequence lets at most one of them in, and a refusal
   * then says that something stands there, which is either our frame or another's.
   */
  async append(frame: Uint8Array, after: Position, deadlineMs: number): Promise<Position> {
    this.assertUsable();
    if (frame.length > this.maxFrameBytes)
      throw new VouchError('payload_too_large', `a commit of ${frame.length} bytes is larger than NATS takes`);
    let mayBeThere = false;
    for (;;) {
      const leftMs = deadlineMs - this.connection.clock.nowMs();
      if (leftMs <= 0 || this.over) throw unavailable('whether the commit took place could not be learned in time');
      try {
        return await this.publish(frame, after, Math.min(leftMs, TRY_MS));
      } catch (error) {
        if (isRefusal(error, JETSTREAM.wrongLastSequence)) {
          const settled = mayBeThere ? await this.ownFrame(frame, after) : 'none';
          if (settled === 'none') throw new Fenced(this.collectionId);
          if (settled !== 'unknown') return settled;
        } else if (isWorthAnotherTry(error)) mayBeThere ||= isOutcomeUnknown(error);
        else throw error;
      }
      await this.connection.untilConnected(leftMs);
      await delay(BETWEEN_TRIES_MS);
    }
  }

  async *read(after: Position): AsyncGenerator<StoredFrame, void, undefined> {
    const last = await this.head();
    if (!last) return;
    for await (const frame of replay(this.connection, this.source, after, last.position)) {
      this.assertUsable();
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
    const last = await readFromLeader(this.connection, stream, { last: subject });
    return last && { position: last.position, bytes: last.bytes };
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  private get over(): boolean {
    return this.closed || this.connection.closed;
  }

  private async publish(frame: Uint8Array, after: Position, timeoutMs: number): Promise<Position> {
    const { js } = this.connection;
    const options = { expect: { lastSubjectSequence: after }, timeout: timeoutMs };
    const stored = await this.connection.call(() => js.publish(this.source.subject, frame, options));
    return stored.seq;
  }

  /** Where the frame stands if an earlier try has put it there: right after `after`, whatever has followed since. */
  private async ownFrame(frame: Uint8Array, after: Position): Promise<Position | 'none' | 'unknown'> {
    const { stream, subject } = this.source;
    try {
      const found = await readFromLeader(this.connection, stream, { sequence: after + 1, next: subject });
      return found && Buffer.compare(found.bytes, frame) === 0 ? found.position : 'none';
    } catch {
      return 'unknown';
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
