/**
 * The text of a checkpoint: seven lines of UTF-8, each ended by a line feed. The signature covers exactly these bytes.
 *
 * ```text
 * vouch checkpoint v1
 * <project>/<name>/<collection id>/<config hash>   the served collection, and the hash of its genesis
 * <size>                                           events, with the genesis
 * <root of the log tree>
 * <chain head>                                     zeros for a log of size 0
 * <state hash>
 * <unix milliseconds>                              time of the signature
 * ```
 *
 * The genesis of an imported log names another collection. The checkpoint does not repeat that name. Otherwise a client
 * could import a forged log and get it signed under a real collection's name.
 */

import { toHex } from '../../shared/hashing/hash.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { LogHead } from '../../shared/protocol/proofs.js';

interface CheckpointFacts {
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
