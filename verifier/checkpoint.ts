/** Checkpoints: signed descriptions of a log at one moment. */
import { toHex } from './bytes.js';
import type { Genesis } from './events.js';
import { objectOf } from './json.js';
import type { LogState } from './replay.js';
import { signedTextIn } from './signedText.js';

/** Hashes and key in hex. */
export interface Checkpoint {
  readonly origin: {
    readonly project: string;
    readonly name: string;
    readonly id: bigint;
    readonly configHash: string;
  };
  /** The number of events, including the genesis. */
  readonly size: bigint;
  readonly root: string;
  readonly chainHead: string;
  readonly stateHash: string;
  /** The time of the signature. */
  readonly timeMs: bigint;
  readonly publicKey: string;
}

const TITLE = 'vouch checkpoint v1';
const WHOLE = '(?:0|[1-9][0-9]{0,15})';
const HASH = '[0-9a-f]{64}';
const NOTE = new RegExp(
  `^${TITLE}\n([^/\n]+)/([^/\n]+)/(${WHOLE})/(${HASH})\n(${WHOLE})\n(${HASH})\n(${HASH})\n(${HASH})\n(${WHOLE})\n$`,
);
const ZEROS = '0'.repeat(64);

/**
 * Verifies a checkpoint and its signature (Ed25519, RFC 8032). Takes the parsed answer of the service (`checkpoint`), or the JSON in
 * an export (`note`), with `public_key` and `signature` in hex. The signature must be under `knownKey`, in hex; without it, the
 * signer is unknown. Throws an Error with the reason if it does not hold.
 */
export function verifyCheckpoint(json: unknown, knownKey?: string): Checkpoint {
  const object = objectOf(json, 'the checkpoint');
  const { text, publicKey } = signedTextIn(object, 'checkpoint' in object ? 'checkpoint' : 'note');
  const checkpoint = { ...readNote(text), publicKey };
  if ('key_id' in object && object.key_id !== publicKey.slice(0, 16)) throw new Error('key_id is not of this key');
  if (knownKey !== undefined && publicKey !== knownKey) throw new Error(`it is signed with another key, ${publicKey}`);
  return checkpoint;
}

function readNote(note: string): Omit<Checkpoint, 'publicKey'> {
  const found = NOTE.exec(note);
  // A lone surrogate has no UTF-8: another text would be signed.
  if (found === null || /\p{Surrogate}/u.test(note))
    throw new Error('the text is not that of a checkpoint of version 1');
  const [, project, name, id, configHash, size, root, chainHead, stateHash, timeMs] = found as unknown as string[];
  if (size === '0' && chainHead !== ZEROS) throw new Error('an empty log has a chain head');
  return {
    origin: { project: project!, name: name!, id: BigInt(id!), configHash: configHash! },
    size: BigInt(size!),
    root: root!,
    chainHead: chainHead!,
    stateHash: stateHash!,
    timeMs: BigInt(timeMs!),
  };
}

/**
 * Reasons why the checkpoint is not of the log in this state; empty if it is. `size`: of the log, with the genesis. The names may
 * differ from those in the genesis, whose hash binds the checkpoint to it: see `servedAs`.
 */
export function notOfLog(checkpoint: Checkpoint, size: bigint, state: LogState): string[] {
  const problems: string[] = [];
  const expect = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem);
  };
  const another = (what: string): string => `the ${what} of the log at size ${size} differs`;
  expect(checkpoint.origin.configHash === toHex(state.configHash), 'it is of another collection');
  expect(checkpoint.size === size, 'its size differs');
  expect(checkpoint.root === toHex(state.logRoot), another('root'));
  expect(checkpoint.chainHead === (size === 0n ? ZEROS : toHex(state.chainHead)), another('chain head'));
  expect(checkpoint.stateHash === toHex(state.stateHash), another('state hash'));
  return problems;
}

/** The names of an imported collection at the signer; undefined if they equal those of its genesis. */
export function servedAs({ origin }: Checkpoint, genesis: Genesis): string | undefined {
  const { project, name, id } = origin;
  const isGenesis = project === genesis.project && name === genesis.name && id === genesis.collectionId;
  return isGenesis ? undefined : `served as ${project}/${name}, id ${id}`;
}
