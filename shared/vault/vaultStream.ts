/** The stream that holds the vault: made by whoever comes first, and refused where it could lose an entry or keep a shredded one. */
import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from 'nats';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM } from '../natsError.js';
import { VAULT_STREAM, VAULT_SUBJECTS } from '../subjects.js';

type Wanted = Pick<StreamConfig, 'name'> & Partial<StreamConfig>;

/** Throws an Error that says what is wrong where the stream is not what it has to be. */
export async function prepareVaultStream(connection: ClusterConnection, replicas: number): Promise<void> {
  const wanted = configOf(replicas);
  try {
    // Making a stream that exists just like that is no error, so several processes may do it at once.
    await connection.call(() => connection.jsm.streams.add(wanted));
  } catch (error) {
    if (!isRefusal(error, JETSTREAM.streamNameInUse)) throw error;
    const { config } = await connection.call(() => connection.jsm.streams.info(VAULT_STREAM));
    const unsafe = unsafeIn(config, wanted);
    if (unsafe) throw new Error(`the stream ${VAULT_STREAM} exists with ${unsafe}; keys would not be safe in it`);
    connection.logger.warn(
      { stream: VAULT_STREAM, replicas: config.num_replicas, wanted: replicas },
      `the stream has other settings than configured; change it with: nats stream edit ${VAULT_STREAM} --replicas ${replicas}`,
    );
  }
}

function configOf(replicas: number): Wanted {
  return {
    name: VAULT_STREAM,
    description: 'Wrapped data keys of Vouch: a subject is a key',
    subjects: [VAULT_SUBJECTS],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msgs: -1,
    max_bytes: -1,
    max_age: 0,
    // A server that drops an old message by itself leaves its bytes on the disk; ours are overwritten one by one.
    max_msgs_per_subject: -1,
    num_replicas: replicas,
    // The newest entry is at the leader; a replica that lags could still answer with a key that is shredded.
    allow_direct: false,
    allow_rollup_hdrs: false,
    deny_delete: false,
    // A purge drops messages and leaves their bytes.
    deny_purge: true,
  };
}

/** Settings whose other values lose entries, or leave the bytes of replaced ones; undefined where none has one. */
function unsafeIn(found: StreamConfig, wanted: Wanted): string | undefined {
  const settings = [
    'storage',
    'retention',
    'discard',
    'max_msgs',
    'max_bytes',
    'max_age',
    'max_msgs_per_subject',
    'allow_rollup_hdrs',
    'deny_delete',
  ] as const;
  for (const setting of settings)
    if ((found[setting] ?? false) !== wanted[setting])
      return `${setting} ${found[setting]} instead of ${wanted[setting]}`;
  if (found.subjects.join() !== VAULT_SUBJECTS) return `subjects ${found.subjects} instead of ${VAULT_SUBJECTS}`;
  return undefined;
}
