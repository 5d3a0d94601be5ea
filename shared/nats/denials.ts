/** Denials in the settings of streams: purges and deletions of messages, for every user with any permissions. */
import type { StreamConfig, StreamUpdateConfig } from 'nats';
import { commandText } from '../process/commandText.js';
import type { ClusterConnection } from './natsConnection.js';
import { NotPermitted } from './natsError.js';

export type Denials = Pick<StreamConfig, 'deny_delete' | 'deny_purge'>;

/** Connections whose log has the warning: in a cluster of an earlier version every stream lacks these denials. */
const warned = new WeakSet<ClusterConnection>();

/**
 * Returns the missing denials as an update of the stream's settings. An update can add a denial, but never remove one. A stream
 * with roll-ups cannot deny purges, since a message with a roll-up header is a purge.
 */
export function lackingDenials(found: StreamConfig, wanted: Denials): Partial<StreamUpdateConfig> {
  return {
    ...(wanted.deny_delete && !found.deny_delete ? { deny_delete: true } : {}),
    ...(wanted.deny_purge && !found.deny_purge ? { deny_purge: true } : {}),
    ...(wanted.deny_purge && found.allow_rollup_hdrs ? { allow_rollup_hdrs: false } : {}),
  };
}

/** Adds missing denials to the stream. Logs one line if the user may not: the users' permissions still protect the stream. */
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
    if (warned.has(connection)) return;
    warned.add(connection);
    connection.logger.warn(
      { stream: found.name, lacking },
      'the stream, and maybe others, does not deny the purge or deletion of messages, which only the admin may change: ' +
        `run ${commandText('keys', 'streams')}`,
    );
  }
}
