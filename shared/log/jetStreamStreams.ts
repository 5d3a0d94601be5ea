/** The streams that hold the logs: made by whoever comes first, and refused where they could lose or misplace a frame. */
import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from 'nats';
import { openNatsBucket } from '../bucket/nats.js';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM } from '../natsError.js';
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

async function prepareStream(connection: ClusterConnection, part: number, { replicas }: LogStreams): Promise<void> {
  const wanted = configOf(part, replicas);
  try {
    // Making a stream that exists just like that is no error, so several processes may do it at once.
    await connection.call(() => connection.jsm.streams.add(wanted));
  } catch (error) {
    if (!isRefusal(error, JETSTREAM.streamNameInUse)) throw error;
    const { config } = await connection.call(() => connection.jsm.streams.info(wanted.name));
    const unsafe = lossOf(config, wanted);
    if (unsafe) throw new Error(`the stream ${wanted.name} exists with ${unsafe}; it would not keep every frame`);
    connection.logger.warn(
      { stream: wanted.name, replicas: config.num_replicas, wanted: replicas },
      `the stream has other settings than configured; change it with: nats stream edit ${wanted.name} --replicas ${replicas}`,
    );
  }
}

type Wanted = Pick<StreamConfig, 'name'> & Partial<StreamConfig>;

function configOf(part: number, replicas: number): Wanted {
  return {
    name: logStream(part),
    description: 'Event logs of Vouch: a subject is a collection, a message is a commit',
    subjects: [logStreamSubjects(part)],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msgs: -1,
    max_bytes: -1,
    max_age: 0,
    max_msg_size: -1,
    max_msgs_per_subject: -1,
    num_replicas: replicas,
    allow_direct: true,
    deny_delete: true,
    // A deleted collection's subject is purged.
    deny_purge: false,
  };
}

/** What in an existing stream's settings can lose or misplace frames; undefined where nothing does. */
function lossOf(found: StreamConfig, wanted: Wanted): string | undefined {
  const settings = [
    'storage',
    'retention',
    'discard',
    'max_msgs',
    'max_bytes',
    'max_age',
    'max_msgs_per_subject',
  ] as const;
  for (const setting of settings)
    if (found[setting] !== wanted[setting]) return `${setting} ${found[setting]} instead of ${wanted[setting]}`;
  if (found.subjects.join() !== wanted.subjects!.join())
    return `subjects ${found.subjects} instead of ${wanted.subjects}`;
  if (!found.allow_direct) return 'allow_direct off';
  return undefined;
}
