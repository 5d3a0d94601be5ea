/** Streams that must not lose a message. The first process makes each; an existing one with unsafe settings is refused. */
import { DiscardPolicy, RetentionPolicy, StorageType, type StreamAPI, type StreamConfig, type StreamInfo } from 'nats';
import { type Denials, enforceDenials } from './denials.js';
import type { ClusterConnection } from './natsConnection.js';
import { fromNats, isRefusal, JETSTREAM, leftToAdmin } from './natsError.js';
import { warnOfReplicas } from './replicaWarning.js';

/** Settings of every such stream: kept in files, and a full stream refuses new messages instead of dropping old ones. */
export const LASTING = {
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_msgs: -1,
  max_bytes: -1,
  max_age: 0,
  max_msgs_per_subject: -1,
  // A message with a roll-up header would erase earlier ones.
  allow_rollup_hdrs: false,
} as const;

type WantedStream = Partial<StreamConfig> &
  typeof LASTING &
  Pick<StreamConfig, 'name' | 'subjects' | 'num_replicas'> &
  Denials;

/**
 * Opens a stream and returns the number of its replicas, which may differ from the wanted one. A stream of an earlier run gets
 * missing denials. `needed`: settings that must be as wanted, besides `LASTING`. Throws an Error that names the stream, the wrong
 * setting, and the consequence.
 */
export async function prepareLastingStream(
  connection: ClusterConnection,
  wanted: WantedStream,
  needed: readonly (keyof StreamConfig)[],
  consequence: string,
): Promise<number> {
  const { config } = await connection.call(() => streamMade(connection.jsm.streams, wanted));
  const unsafe = unsafeIn(config, wanted, needed);
  if (unsafe) throw new Error(`the stream ${wanted.name} exists with ${unsafe}; ${consequence}`);
  await enforceDenials(connection, config, wanted);
  warnOfReplicas(connection, wanted.name, config.num_replicas, wanted.num_replicas);
  return config.num_replicas;
}

/** Makes a missing stream. Looks first: a process of a cluster may lack the right to make streams, which its admin then makes. */
export async function streamMade(
  streams: StreamAPI,
  wanted: Partial<StreamConfig> & Pick<StreamConfig, 'name'>,
): Promise<StreamInfo> {
  try {
    return await streams.info(wanted.name);
  } catch (error) {
    if (!isRefusal(fromNats(error), JETSTREAM.streamNotFound)) throw error;
  }
  try {
    return await streams.add(wanted);
  } catch (error) {
    // Another process made it first, with other settings.
    if (!isRefusal(fromNats(error), JETSTREAM.streamNameInUse))
      return leftToAdmin(`JetStream has no stream ${wanted.name}`)(error);
    return await streams.info(wanted.name);
  }
}

/** The first wrong setting; undefined if all are right. Servers omit false values. */
function unsafeIn(
  found: StreamConfig,
  wanted: WantedStream,
  needed: readonly (keyof StreamConfig)[],
): string | undefined {
  for (const setting of [...(Object.keys(LASTING) as (keyof typeof LASTING)[]), ...needed])
    if ((found[setting] ?? false) !== wanted[setting])
      return `${setting} ${found[setting]} instead of ${wanted[setting]}`;
  if (found.subjects.join() !== wanted.subjects.join())
    return `subjects ${found.subjects} instead of ${wanted.subjects}`;
  return undefined;
}
