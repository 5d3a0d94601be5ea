/** Inclusion and consistency proofs of the log tree, in the answers of the service. */
import { equal } from './bytes.js';
import { counted } from './counted.js';
import { ABSENT, logRoot } from './hashing.js';
import { base64urlOf, hexOf, objectOf, wholeOf } from './json.js';
import { Reading } from './reading.js';
import { hashesFromNodes, hashFromPath, pathLength } from './tree.js';

/** A log at one size. */
export interface LogAt {
  readonly sequence: bigint;
  /** The number of events, including the genesis. */
  readonly size: bigint;
  readonly root: Uint8Array;
}

export interface Inclusion {
  readonly sequence: bigint;
  readonly log: LogAt;
  /** The chain head after the event. */
  readonly chainHead: Uint8Array;
}

export interface Consistency {
  readonly from: LogAt;
  readonly to: LogAt;
}

const LOG_NODE = 0x01;
const HASH_BYTES = 32;

/**
 * Verifies that an event is in the log of one size and root (RFC 9162, section 2.1.3.2, with chain heads for leaves). Takes the
 * parsed answer of the service: `sequence`, `size`, `root` (hex), `proof` (base64url). Throws an Error with the reason if it does
 * not hold.
 */
export function verifyInclusion(json: unknown): Inclusion {
  const object = objectOf(json, 'the proof');
  const [sequence, size, root] = [
    wholeOf(object, 'sequence'),
    wholeOf(object, 'size'),
    hexOf(object, 'root', HASH_BYTES),
  ];
  if (sequence >= size) throw new Error(`a log of ${counted(size, 'event')} has no event ${sequence}`);
  const [chainHead, ...path] = hashesIn(base64urlOf(object, 'proof'));
  if (chainHead === undefined || equal(chainHead, ABSENT)) throw new Error('the proof has no chain head');
  if (path.length !== pathLength(sequence, size)) throw new Error('the proof has a path of the wrong length');
  if (!equal(logRoot(size, hashFromPath(chainHead, { index: sequence, size }, path, LOG_NODE)), root))
    throw new Error('the proof does not lead to the root');
  return { sequence, log: { sequence: size - 1n, size, root }, chainHead };
}

/**
 * Verifies that the log at one size begins with the log at an earlier size (RFC 9162, section 2.1.4.2). Takes the parsed answer of
 * the service: `from` and `to` (`sequence`, `size`, `root`), `proof` (base64url). Throws an Error with the reason if it does not
 * hold.
 */
export function verifyConsistency(json: unknown): Consistency {
  const object = objectOf(json, 'the proof');
  const [from, to] = [logAt(object.from, 'from'), logAt(object.to, 'to')];
  if (from.size > to.size) throw new Error('the later log is shorter than the earlier');
  const nodes = hashesIn(base64urlOf(object, 'proof'));
  if (from.size === 0n || from.size === to.size) {
    if (nodes.length > 0) throw new Error('the proof has nodes where none are needed');
    if (from.size === to.size && !equal(from.root, to.root)) throw new Error('two logs of one size have two roots');
    return { from, to };
  }
  const hashes = hashesFromNodes(from.size, to.size, nodes, LOG_NODE);
  if (hashes === undefined) throw new Error('the proof has the wrong number of nodes');
  if (!equal(logRoot(from.size, hashes.earlier), from.root))
    throw new Error('the proof does not lead to the earlier root');
  if (!equal(logRoot(to.size, hashes.later), to.root)) throw new Error('the proof does not lead to the later root');
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
  if (at.size === 0n && !equal(at.root, logRoot(0n, ABSENT))) throw new Error(`${what}: an empty log has another root`);
  return at;
}

/** The hashes after the version byte, 32 bytes each. */
function hashesIn(bytes: Uint8Array): Uint8Array[] {
  const reading = new Reading(bytes, 'the proof');
  const version = reading.u8();
  if (version !== 1) reading.fail(`has version ${version}`);
  if (reading.left % HASH_BYTES !== 0) reading.fail('does not hold whole hashes');
  return Array.from({ length: reading.left / HASH_BYTES }, () => reading.take(HASH_BYTES));
}
