/** A stream that must not lose anything: made by whoever comes first, and refused where its settings could. */
import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from 'nats';
import type { ClusterConnection } from './natsConnection.js';
import { isRefusal, JETSTREAM } from './natsError.js';
import { tellOfReplicas } from './replicaWarning.js';

/** Of every such stream: kept in files until somebody deletes it, and full rather than short of its oldest. */
export const LASTING = {
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_msgs: -1,
  max_bytes: -1,
  max_age: 0,
  max_msgs_per_subject: -1,
} as const;

export type WantedStream = Partial<StreamConfig> & typeof LASTING & Pick<StreamConfig, 'name' | 'subjects'>;

/**
 * `needed`: settings beyond those of `LASTING` that must be as wanted. Throws an Error that names the stream, the setting
 * that is another one, and the consequence. Resolves to how many servers hold it, which may be others than wanted.
 */
export async function prepareLastingStream(
  connection: ClusterConnection,
  wanted: WantedStream,
  needed: readonly (keyof StreamConfig)[],
  consequence: string,
): Promise<number> {
  try {
    // Making a stream that exists just like that is no error, so several processes may do it at once.
    return (await connection.call(() => connection.jsm.streams.add(wanted))).config.num_replicas;
  } catch (error) {
    if (!isRefusal(error, JETSTREAM.streamNameInUse)) throw error;
    const { config } = await connection.call(() => connection.jsm.streams.info(wanted.name));
    const unsafe = unsafeIn(config, wanted, needed);
    if (unsafe) throw new Error(`the stream ${wanted.name} exists with ${unsafe}; ${consequence}`);
    const { name: stream, num_replicas: wantedReplicas } = wanted;
    tellOfReplicas(connection, { stream, replicas: config.num_replicas, wanted: wantedReplicas ?? 1 });
    return config.num_replicas;
  }
}

/** A setting that is another one than it has to be; undefined where none is. Servers leave out what is false. */
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
