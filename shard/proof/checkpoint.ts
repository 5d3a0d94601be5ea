/**
 * The text of a checkpoint: UTF-8, seven lines, each ended by a line feed, signed as it stands.
 *
 *   vouch checkpoint v1
 *   <project>/<name>/<collection id>/<config hash>   the collection as it is served here, and the hash of its genesis
 *   <size>                                           events, the genesis counted
 *   <root of the log tree>
 *   <chain head>                                     zeros for a log of size 0
 *   <state hash>
 *   <unix milliseconds>                              when it was signed
 *
 * A log that was imported from elsewhere has a genesis that names another collection. That is not repeated: anybody could
 * import a made-up log under a real collection's name, and have it signed as that.
 */
import type { CollectionConfig } from '../../shared/calls.js';
import { toHex } from '../../shared/hash.js';
import type { LogHead } from '../../shared/proofs.js';

export interface CheckpointFacts {
  readonly collection: Pick<CollectionConfig, 'project' | 'name' | 'id'>;
  readonly configHash: Uint8Array;
  readonly log: LogHead;
  readonly chainHead: Uint8Array;
  readonly stateHash: Uint8Array;
  readonly timeMs: number;
}

const TITLE = 'vouch checkpoint v1';

export function checkpointText({ collection, configHash, log, chainHead, stateHash, timeMs }: CheckpointFacts): string {
  const { project, name, id } = collection;
  const origin = `${project}/${name}/${id}/${toHex(configHash)}`;
  const lines = [TITLE, origin, log.size, toHex(log.root), toHex(chainHead), toHex(stateHash), timeMs];
  return lines.map((line) => `${line}\n`).join('');
}
