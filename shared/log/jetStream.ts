/** The event logs in JetStream: a collection is a subject (see `jetStreamLog.ts`). */
import { LASTING, prepareLastingStream } from '../nats/lastingStream.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { Mutex } from '../scheduling/mutex.js';
import {
  logPart,
  logStream,
  logSubject,
  SERVICE_LOG_STREAM,
  SERVICE_LOG_SUBJECT,
  SERVICE_LOG_SUBJECTS,
} from '../transport/subjects.js';
import { type EventLog, type EventLogs, SERVICE_LOG_ID } from './eventLog.js';
import { JetStreamLog } from './jetStreamLog.js';

/** Time for which the system may still send the written bytes of an ended process. */
const LATE_MS = 120_000;
/** Largest number of barriers that a process writes at once: many of its collections may change their owner together. */
const BARRIERS_AT_ONCE = 16;

export class JetStreamLogs implements EventLogs {
  readonly lateMs = LATE_MS;
  readonly #turns = Array.from({ length: BARRIERS_AT_ONCE }, () => new Mutex());

  constructor(
    private readonly connection: ClusterConnection,
    private readonly streams: number,
  ) {}

  async open(collectionId: number): Promise<EventLog> {
    if (!this.connection.connected) throw this.connection.down();
    const stream = logStream(logPart(collectionId, this.streams));
    const turn = this.#turns[collectionId % BARRIERS_AT_ONCE]!;
    return new JetStreamLog(
      this.connection,
      collectionId,
      { stream, subject: logSubject(collectionId, this.streams) },
      turn,
    );
  }

  async remove(collectionId: number): Promise<void> {
    const { connection } = this;
    const stream = logStream(logPart(collectionId, this.streams));
    const filter = logSubject(collectionId, this.streams);
    await connection.call(() => connection.jsm.streams.purge(stream, { filter }));
  }
}

/** Opens the service log. It has its own frame format, so its reader detects superseded frames. Throws like `prepareLastingStream`. */
export async function openServiceLog(connection: ClusterConnection, replicas: number): Promise<EventLog> {
  const wanted = {
    name: SERVICE_LOG_STREAM,
    description: 'The log of the service: a message is a set of checkpoints',
    subjects: [SERVICE_LOG_SUBJECTS],
    ...LASTING,
    max_msg_size: -1,
    num_replicas: replicas,
    allow_direct: true,
    deny_delete: true,
    deny_purge: true,
  };
  await prepareLastingStream(connection, wanted, ['allow_direct'], 'it would not keep every entry');
  return new JetStreamLog(
    connection,
    SERVICE_LOG_ID,
    { stream: SERVICE_LOG_STREAM, subject: SERVICE_LOG_SUBJECT },
    new Mutex(),
  );
}
