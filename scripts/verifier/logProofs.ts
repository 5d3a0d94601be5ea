/** Inclusion and consistency proofs of the log tree, as the service answers them. */
import { ABSENT, logRoot } from './hashing.js';
import { base64urlOf, hexOf, objectOf, wholeOf } from './json.js';
import { Reading } from './reading.js';
import { hashesFromNodes, hashFromPath, pathLength } from './tree.js';

/** A log at one size. */
export interface LogAt {
  readonly sequence: bigint;
  /** The genesis counted. */
  readonly size: bigint;
  readonly root: Buffer;
}

export interface Inclusion {
  readonly sequence: bigint;
  readonly log: LogAt;
  /** After the event. */
  readonly chainHead: Buffer;
}

export interface Consistency {
  readonly from: LogAt;
  readonly to: LogAt;
}

const LOG_NODE = 0x01;
const HASH_BYTES = 32;

/** What the proof shows. Throws an Error with the reason where it does not hold. */
export function verifyInclusion(json: unknown): Inclusion {
  const object = objectOf(json, 'the proof');
  const [sequence, size, root] = [
    wholeOf(object, 'sequence'),
    wholeOf(object, 'size'),
    hexOf(object, 'root', HASH_BYTES),
  ];
  if (sequence >= size) throw new Error(`a log of ${size} events has no event ${sequence}`);
  const [chainHead, ...path] = hashesIn(base64urlOf(object, 'proof'));
  if (chainHead === undefined || chainHead.equals(ABSENT)) throw new Error('the proof has no chain head');
  if (path.length !== pathLength(sequence, size)) throw new Error('the proof has a path of the wrong length');
  if (!logRoot(size, hashFromPath(chainHead, sequence, size, path, LOG_NODE)).equals(root))
    throw new Error('the proof does not lead to the root');
  return { sequence, log: { sequence: size - 1n, size, root }, chainHead };
}

/** What the proof shows. Throws an Error with the reason where it does not hold. */
export function verifyConsistency(json: unknown): Consistency {
  const object = objectOf(json, 'the proof');
  const [from, to] = [logAt(object.from, 'from'), logAt(object.to, 'to')];
  if (from.size > to.size) throw new Error('the later log is shorter than the earlier');
  const nodes = hashesIn(base64urlOf(object, 'proof'));
  if (from.size === 0n || from.size === to.size) {
    if (nodes.length > 0) throw new Error('the proof has nodes where none are needed');
    if (from.size === to.size && !from.root.equals(to.root)) throw new Error('two logs of one size have two roots');
    return { from, to };
  }
  const hashes = hashesFromNodes(from.size, to.size, nodes, LOG_NODE);
  if (hashes === undefined) throw new Error('the proof has the wrong number of nodes');
  if (!logRoot(from.size, hashes.earlier).equals(from.root))
    throw new Error('the proof does not lead to the earlier root');
  if (!logRoot(to.size, hashes.later).equals(to.root)) throw new Error('the proof does not lead to the later root');
  return { from, to };
}

function logAt(json: unknown, what: string): LogAt {
  const object = objectOf(json, what);
  const at = {
    sequence: wholeOf(object, 'sequence'),
    size: wholeOf(object, 'size'),
    root: hexOf(object, 'root', HASH_BYTES),
  };
  if (at.sequence !== (at.size > 0n ? at.size - 1n : 0n)) throw new Error(`${what}: size and sequence do not agree`);
  if (at.size === 0n && !at.root.equals(logRoot(0n, ABSENT))) throw new Error(`${what}: an empty log has another root`);
  return at;
}

/** What stands behind the version, 32 bytes each. */
function hashesIn(bytes: Buffer): Buffer[] {
  const reading = new Reading(bytes, 'the proof');
  const version = reading.u8();
  if (version !== 1) reading.fail(`has version ${version}`);
  if (reading.left % HASH_BYTES !== 0) reading.fail('does not hold whole hashes');
  return Array.from({ length: reading.left / HASH_BYTES }, () => reading.take(HASH_BYTES));
}
