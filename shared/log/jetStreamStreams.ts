/** The streams that hold the logs: refused where they could lose or misplace a frame. */
import { openNatsBucket } from '../bucket/nats.js';
import { LASTING, prepareLastingStream } from '../lastingStream.js';
import type { ClusterConnection } from '../natsConnection.js';
import { BUCKETS } from '../platform.js';
import { logStream, logStreamSubjects } from '../subjects.js';

export interface LogStreams {
  /** Over how many streams the collections are spread. */
  readonly count: number;
  readonly replicas: number;
}

/** In the counters bucket. Which stream a collection is in follows from the count, so it must never change. */
const COUNT_KEY = 'log-streams';

/** Throws an Error that says what to do where the streams are not what they have to be. */
export async function prepareLogStreams(connection: ClusterConnection, streams: LogStreams): Promise<void> {
  await agreeOnCount(connection, streams);
  await Promise.all(Array.from({ length: streams.count }, (_, part) => prepareStream(connection, part, streams)));
}

async function agreeOnCount(connection: ClusterConnection, { count, replicas }: LogStreams): Promise<void> {
  const counters = await openNatsBucket(connection, { name: BUCKETS.counters, ttlMs: undefined, replicas });
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
