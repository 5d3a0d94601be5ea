/** Checkpoints of transparency logs (c2sp.org/tlog-checkpoint) and their cosignatures (c2sp.org/tlog-cosignature). */
import { concat, toUtf8 } from '../bytes.js';
import { isSigned } from '../ed25519.js';
import { fromBase64, toBase64 } from './base64.js';
import { HASH_BYTES, type TreeAt } from './merkle.js';
import { type Note, type NoteSignature, signaturesBy, type VerifierKey } from './note.js';

/** The content of a checkpoint: size and root of a log. */
export interface TreeHead extends TreeAt {
  /** The identity of the log. */
  readonly origin: string;
}

export interface Cosignature {
  readonly key: VerifierKey;
  /** Unix seconds at which the cosigner knew no newer checkpoint. */
  readonly timeSecs: number;
}

const TIMED_SIGNATURE_BYTES = 8 + 64;
const SIZE = /^(?:0|[1-9][0-9]{0,15})$/;

/** The text of a checkpoint without extension lines. */
export const treeHeadText = ({ origin, size, root }: TreeHead): string => `${origin}\n${size}\n${toBase64(root)}\n`;

/** Reads the text of a checkpoint; ignores extension lines. Throws an Error if it is malformed. */
export function parseTreeHead(text: string): TreeHead {
  const [origin, size, root, ...extensions] = text.split('\n');
  const rootBytes = fromBase64(root ?? '');
  if (!text.endsWith('\n') || !origin || size === undefined || extensions.pop() !== '' || extensions.includes(''))
    throw new Error('the text is not that of a checkpoint: it has fewer than three lines, or an empty one');
  if (!SIZE.test(size) || !Number.isSafeInteger(Number(size)))
    throw new Error(`the checkpoint has the size ${JSON.stringify(size.slice(0, 40))}`);
  if (rootBytes?.length !== HASH_BYTES) throw new Error('the root of the checkpoint is not 32 bytes in base64');
  return { origin, size: Number(size), root: rootBytes };
}

/** The text that a cosigner signs: it states that at `timeSecs` the cosigner knew no larger tree of the log. */
export const cosignedText = (text: string, timeSecs: number): string => `cosignature/v1\ntime ${timeSecs}\n${text}`;

/** The signature bytes of a cosignature: the time, big-endian, and Ed25519 over `cosignedText`. */
export function timedSignature(timeSecs: number, ed25519: Uint8Array): Uint8Array {
  const time = new DataView(new ArrayBuffer(8));
  time.setBigUint64(0, BigInt(timeSecs));
  return concat([new Uint8Array(time.buffer), ed25519]);
}

/** The newest cosignature of the note by this key; undefined without one. Throws an Error if one does not verify. */
export function cosignatureBy(note: Note, key: VerifierKey): Cosignature | undefined {
  const times = signaturesBy(note, key).map((signature) => verifiedTime(note.text, signature, key));
  return times.length === 0 ? undefined : { key, timeSecs: Math.max(...times) };
}

function verifiedTime(text: string, { bytes }: NoteSignature, { name, publicKey }: VerifierKey): number {
  const refused = new Error(`the cosignature of ${name} is not of this checkpoint`);
  if (bytes.length !== TIMED_SIGNATURE_BYTES) throw refused;
  const time = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0);
  if (time > BigInt(Number.MAX_SAFE_INTEGER)) throw refused;
  if (!isSigned(toUtf8(cosignedText(text, Number(time))), bytes.subarray(8), publicKey)) throw refused;
  return Number(time);
}
