/** Checkpoints: what a log was at one moment, signed. */
import { createPublicKey, verify } from 'node:crypto';
import type { Genesis } from './events.js';
import { hexOf, objectOf, textOf } from './json.js';
import type { LogState } from './replay.js';

export interface Checkpoint {
  readonly origin: {
    readonly project: string;
    readonly name: string;
    readonly id: bigint;
    readonly configHash: string;
  };
  /** Events, the genesis counted. */
  readonly size: bigint;
  readonly root: string;
  readonly chainHead: string;
  readonly stateHash: string;
  /** When it was signed. */
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
/** A raw Ed25519 key as a SubjectPublicKeyInfo (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * A checkpoint as the service answers it (`checkpoint`), or as an export holds it (`note`). `knownKey`: the public key that
 * it must be signed with, hex. Throws an Error with the reason where it does not hold.
 */
export function verifyCheckpoint(json: unknown, knownKey?: string): Checkpoint {
  const object = objectOf(json, 'the checkpoint');
  const note = textOf(object, 'checkpoint' in object ? 'checkpoint' : 'note');
  const publicKey = hexOf(object, 'public_key', 32);
  const publicKeyHex = publicKey.toString('hex');
  const checkpoint = { ...readNote(note), publicKey: publicKeyHex };
  if (!isSigned(note, hexOf(object, 'signature', 64), publicKey)) throw new Error('the signature is not of this text');
  if ('key_id' in object && object.key_id !== publicKeyHex.slice(0, 16)) throw new Error('key_id is not of this key');
  if (knownKey !== undefined && publicKeyHex !== knownKey)
    throw new Error(`it is signed with another key, ${publicKeyHex}`);
  return checkpoint;
}

function readNote(note: string): Omit<Checkpoint, 'publicKey'> {
  const found = NOTE.exec(note);
  // What is not Unicode would be signed as something else.
  if (found === null || Buffer.from(note).toString() !== note)
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

function isSigned(note: string, signature: Buffer, publicKey: Buffer): boolean {
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, publicKey]), format: 'der', type: 'spki' });
  return verify(null, Buffer.from(note, 'utf8'), key, signature);
}

/**
 * Why the checkpoint is not of the log that is in this state; nothing where it is. `size`: of the log, the genesis counted.
 * That the names are the genesis' is not asked: its hash binds the checkpoint to it, see `servedAs`.
 */
export function notOfLog(checkpoint: Checkpoint, size: bigint, state: LogState): string[] {
  const problems: string[] = [];
  const expect = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem);
  };
  const another = (what: string): string => `the ${what} of the log at size ${size} is another`;
  expect(checkpoint.origin.configHash === state.configHash.toString('hex'), 'it is of another collection');
  expect(checkpoint.size === size, 'its size is another');
  expect(checkpoint.root === state.logRoot.toString('hex'), another('root'));
  expect(checkpoint.chainHead === (size === 0n ? ZEROS : state.chainHead.toString('hex')), another('chain head'));
  expect(checkpoint.stateHash === state.stateHash.toString('hex'), another('state hash'));
  return problems;
}

/** Of a collection that was imported: the names that the signer serves it under, which are not its genesis'. */
export function servedAs({ origin }: Checkpoint, genesis: Genesis): string | undefined {
  const { project, name, id } = origin;
  const isGenesis = project === genesis.project && name === genesis.name && id === genesis.collectionId;
  return isGenesis ? undefined : `served as ${project}/${name}, id ${id}`;
}
