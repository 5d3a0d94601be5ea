/** The stream that holds the vault: refused where it could lose an entry or keep a shredded one. */
import { LASTING, prepareLastingStream } from '../lastingStream.js';
import type { ClusterConnection } from '../natsConnection.js';
import { VAULT_STREAM, VAULT_SUBJECTS } from '../subjects.js';

/** How many servers hold it. Throws an Error that says what is wrong where the stream is not what it has to be. */
export function prepareVaultStream(connection: ClusterConnection, replicas: number): Promise<number> {
  const wanted = {
    name: VAULT_STREAM,
    description: 'Wrapped data keys of Vouch: a subject is a key',
    subjects: [VAULT_SUBJECTS],
    // A server that drops an old message of a subject by itself leaves its bytes on the disk; ours are overwritten one by one.
    ...LASTING,
    num_replicas: replicas,
    // The newest entry is at the leader; a replica that lags could still answer with a key that is shredded.
    allow_direct: false,
    allow_rollup_hdrs: false,
    deny_delete: false,
    // A purge drops messages and leaves their bytes.
    deny_purge: true,
  };
  return prepareLastingStream(connection, wanted, ['allow_rollup_hdrs', 'deny_delete'], 'keys would not be safe in it');
}
