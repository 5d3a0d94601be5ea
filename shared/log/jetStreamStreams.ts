/** Makes the streams of the logs, and refuses existing streams that could lose or misplace a frame. */
import { BUCKETS } from '../bucket/buckets.js';
import { openNatsBucket } from '../bucket/nats.js';
import { LASTING, prepareLastingStream } from '../nats/lastingStream.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { logStream, logStreamSubjects } from '../transport/subjects.js';

interface LogStreams {
  readonly count: number;
  readonly replicas: number;
}

/** A key of the counters bucket. Its value, the number of log streams, determines the stream of each collection, and never changes. */
const COUNT_KEY = 'log-streams';

/** Throws an Error that says what to do if a stream has wrong settings. */
export async function prepareLogStreams(connection: ClusterConnection, streams: LogStreams): Promise<void> {
  await agreeOnCount(connection, streams);
  await Promise.all(Array.from({ length: streams.count }, (_, part) => prepareStream(connection, part, streams)));
}

async function agreeOnCount(connection: ClusterConnection, { count, replicas }: LogStreams): Promise<void> {
  const options = { name: BUCKETS.counters, ttlMs: undefined, replicas, isEntry: () => true };
  const counters = await openNatsBucket(connection, options);
  if ((await counters.create(COUNT_KEY, count)) !== undefined) return;
  const stored = (await counters.get(COUNT_KEY))?.value;
  if (stored !== count)
    throw new Error(
      `the logs are spread over ${stored} streams and cannot be read as ${count}; set VOUCH_LOG_STREAMS to ${stored}`,
    );
}

function prepareStream(connection: ClusterConnection, part: number, { replicas }: LogStreams): Promise<number> {
  const wanted = {
    name: logStream(part),
    description: 'Event logs of Vouch: a subject is a collection, a message is a commit',
    subjects: [logStreamSubjects(part)],
    ...LASTING,
    max_msg_size: -1,
    num_replicas: replicas,
    allow_direct: true,
    deny_delete: true,
    // A deleted collection's subject is purged.
    deny_purge: false,
  };
  return prepareLastingStream(connection, wanted, ['allow_direct'], 'it would not keep every frame');
}
