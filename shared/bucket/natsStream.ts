/** The stream of a bucket in JetStream: that of NATS's key-value store, plus denials of purges and deletions. */
import { DiscardPolicy, millis, nanos, RetentionPolicy, StorageType, type StreamConfig } from 'nats';
import { enforceDenials, lackingDenials } from '../nats/denials.js';
import { streamMade } from '../nats/lastingStream.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { leftToAdmin } from '../nats/natsError.js';
import { warnOfReplicas } from '../nats/replicaWarning.js';

/** Window of JetStream's message ids, at most the life of messages; we send no ids. */
const DUPLICATE_WINDOW_MS = 120_000;
/** Denied, since an entry is deleted by a message that says so, and replaced by its subject's next message. */
const DENIALS = { deny_delete: true, deny_purge: true };

export interface BucketStream {
  readonly name: string;
  readonly ttlMs: number | undefined;
  readonly replicas: number;
}

export const bucketStreamName = (bucket: string): string => `KV_${bucket}`;

/**
 * Makes the stream if it does not exist; several processes may do so at once. Entries with a time to live are kept in files
 * too. In memory the revisions would restart with the server, and an old one could be taken for a new one. A purge fails,
 * both by a request and by the roll-up header, which `nats kv purge` sends.
 */
export async function prepareBucketStream(connection: ClusterConnection, wanted: BucketStream): Promise<void> {
  const { name, ttlMs = 0, replicas } = wanted;
  const settings = {
    name: bucketStreamName(name),
    subjects: [`$KV.${name}.>`],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    max_msgs_per_subject: 1,
    max_age: nanos(ttlMs),
    num_replicas: replicas,
    allow_direct: false,
    allow_rollup_hdrs: false,
    ...DENIALS,
  };
  const { config } = await connection
    .call(() => streamMade(connection.jsm.streams, settings))
    .catch(leftToAdmin(`JetStream has no bucket ${name}`));
  warnOfReplicas(connection, config.name, config.num_replicas, replicas);
  if (millis(config.max_age) === ttlMs) await enforceDenials(connection, config, DENIALS);
  else await changeTtl(connection, config, wanted);
}

/** Applies the configured time to live, and missing denials, to the bucket of an earlier run. */
async function changeTtl(
  connection: ClusterConnection,
  config: StreamConfig,
  { name, ttlMs = 0 }: BucketStream,
): Promise<void> {
  connection.logger.info({ bucket: name, wasMs: millis(config.max_age), ttlMs }, 'the time to live changes');
  const duplicateWindowMs = ttlMs === 0 ? DUPLICATE_WINDOW_MS : Math.min(ttlMs, DUPLICATE_WINDOW_MS);
  const changed = { max_age: nanos(ttlMs), duplicate_window: nanos(duplicateWindowMs) };
  await connection
    .call(() => connection.jsm.streams.update(config.name, { ...changed, ...lackingDenials(config, DENIALS) }))
    .catch(leftToAdmin(`bucket ${name} keeps its entries for ${millis(config.max_age)} ms and not for ${ttlMs} ms`));
}
