/** Proofs that an entry is in a log, with the log's checkpoint (c2sp.org/tlog-proof). */
import { equal } from '../bytes.js';
import { counted } from '../counted.js';
import { fromBase64, toBase64 } from './base64.js';
import { HASH_BYTES, leafHash, rootFromPath } from './merkle.js';
import { type Policy, type TrustedCheckpoint, verifyTreeHead } from './policy.js';

export interface TlogProof {
  readonly index: number;
  /** Siblings of the leaf, bottom first. */
  readonly path: readonly Uint8Array[];
  /** The checkpoint, a signed note. */
  readonly checkpoint: string;
}

const TITLE = 'c2sp.org/tlog-proof@v1';
const PATH_MAX = 63;

export const formatTlogProof = ({ index, path, checkpoint }: TlogProof): string =>
  `${TITLE}\nindex ${index}\n${path.map((hash) => `${toBase64(hash)}\n`).join('')}\n${checkpoint}`;

/** Throws an Error that says what is wrong with it. Extra data are ignored, since no signature covers them. */
export function parseTlogProof(text: string): TlogProof {
  const end = text.indexOf('\n\n');
  if (end < 0) throw new Error('the proof has no checkpoint after an empty line');
  const lines = text.slice(0, end).split('\n');
  if (lines.shift() !== TITLE) throw new Error(`the proof does not begin with ${TITLE}`);
  if (/^extra [A-Za-z0-9+/]*={0,2}$/.test(lines[0] ?? '')) lines.shift();
  const index = /^index (0|[1-9]\d{0,15})$/.exec(lines.shift() ?? '')?.[1];
  if (index === undefined || !Number.isSafeInteger(Number(index))) throw new Error('the proof has no index');
  if (lines.length > PATH_MAX) throw new Error('the proof has too many hashes');
  const path = lines.map((line) => {
    const hash = fromBase64(line);
    if (hash?.length !== HASH_BYTES) throw new Error('a hash of the proof is not 32 bytes in base64');
    return hash;
  });
  return { index: Number(index), path, checkpoint: text.slice(end + 2) };
}

/** Verifies that the entry is in a log that the policy accepts. Throws an Error that names the failed step. */
export function verifyTlogProof(
  text: string,
  entry: Uint8Array,
  policy: Policy,
): TrustedCheckpoint & { index: number } {
  const { index, path, checkpoint } = parseTlogProof(text);
  const head = verifyTreeHead(checkpoint, policy);
  const root = rootFromPath(leafHash(entry), index, head.size, path);
  if (root === undefined || !equal(root, head.root))
    throw new Error(
      `the entry is not number ${index} of the ${counted(head.size, 'entry', 'entries')} of ${head.origin}`,
    );
  return { ...head, index };
}
