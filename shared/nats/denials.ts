/** What streams deny to every user, whatever the permissions: the purge and the deletion of messages. */
import type { StreamConfig, StreamUpdateConfig } from 'nats';
import type { ClusterConnection } from './natsConnection.js';
import { NotPermitted } from './natsError.js';

export type Denials = Pick<StreamConfig, 'deny_delete' | 'deny_purge'>;

/** Connections that were told; each stream of a cluster of an earlier version lacks the same. */
const told = new WeakSet<ClusterConnection>();

/**
 * Returns the denials that the stream lacks, as an update of its settings. An update can add a denial and none can take one
 * back. A stream that takes roll-ups cannot deny a purge, and a message with such a header is one.
 */
export function lackingDenials(found: StreamConfig, wanted: Denials): Partial<StreamUpdateConfig> {
  return {
    ...(wanted.deny_delete && !found.deny_delete ? { deny_delete: true } : {}),
    ...(wanted.deny_purge && !found.deny_purge ? { deny_purge: true } : {}),
    ...(wanted.deny_purge && found.allow_rollup_hdrs ? { allow_rollup_hdrs: false } : {}),
  };
}

/** Adds the denials that the stream lacks. Logs one line where the user may not: the permissions of the others still hold. */
export async function enforceDenials(
  connection: ClusterConnection,
  found: StreamConfig,
  wanted: Denials,
): Promise<void> {
  const lacking = lackingDenials(found, wanted);
  if (Object.keys(lacking).length === 0) return;
  try {
    await connection.call(() => connection.jsm.streams.update(found.name, lacking));
    connection.logger.info({ stream: found.name, ...lacking }, 'the stream denies what Vouch does not need');
  } catch (error) {
    if (!(error instanceof NotPermitted)) throw error;
    if (told.has(connection)) return;
    told.add(connection);
    connection.logger.warn(
      { stream: found.name, lacking },
      'the stream, and maybe others, does not deny the purge or deletion of messages, which only the admin may change: ' +
        'run npm run keys -- streams',
    );
  }
}
