/**
 * Signed notes (c2sp.org/signed-note): a text, an empty line, and signature lines `— <key name> <base64>`. Keys are named by
 * verifier keys, `<name>+<key id>+<base64>`.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { concat, equal, toHex, toUtf8, u8 } from '../bytes.js';
import { counted } from '../counted.js';
import { isSigned, weaknessOf } from '../ed25519.js';
import { fromBase64, toBase64 } from './base64.js';

/** The types of signatures: Ed25519 over the note, and over a cosigned checkpoint. */
export const ED25519 = 0x01;
export const COSIGNATURE = 0x04;
export type SignatureType = typeof ED25519 | typeof COSIGNATURE;

export interface VerifierKey {
  readonly name: string;
  /** 8 lowercase hex digits. */
  readonly id: string;
  readonly type: SignatureType;
  readonly publicKey: Uint8Array;
}

export interface NoteSignature {
  readonly name: string;
  /** 8 lowercase hex digits. */
  readonly keyId: string;
  /** The bytes after the key id. */
  readonly bytes: Uint8Array;
}

export interface Note {
  /** Ends in a line feed. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

const NOTE_CHARS_MAX = 1_000_000;
const SIGNATURES_MAX = 100;
const KEY_ID_BYTES = 4;
const PUBLIC_KEY_BYTES = 32;
const LINE = /^— (\S+) (\S+)$/u;
/** A control character other than a line feed, or a lone surrogate, which has no UTF-8. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: notes must not contain them
const FORBIDDEN = /[\u0000-\u0009\u000b-\u001f]|\p{Surrogate}/u;

export const isKeyName = (name: string): boolean => name !== '' && !/[\s\p{White_Space}+]/u.test(name);

/** The first four bytes of SHA-256 of name, line feed, type and key, in hex. */
export const keyIdOf = (name: string, type: SignatureType, publicKey: Uint8Array): string =>
  toHex(sha256(concat([toUtf8(`${name}\n`), u8(type), publicKey])).subarray(0, KEY_ID_BYTES));

/** Throws an Error if `name` is not a valid name of a key. */
export function verifierKey(name: string, type: SignatureType, publicKey: Uint8Array): VerifierKey {
  if (!isKeyName(name))
    throw new Error(`${JSON.stringify(name)} is not a name of a key: it is empty, or has a blank or a +`);
  return { name, id: keyIdOf(name, type, publicKey), type, publicKey };
}

export const formatVerifierKey = ({ name, id, type, publicKey }: VerifierKey): string =>
  `${name}+${id}+${toBase64(concat([u8(type), publicKey]))}`;

/** Reads `<name>+<key id>+<base64>`. Throws an Error that says what is wrong with it. */
export function parseVerifierKey(text: string): VerifierKey {
  const refuse = (why: string): Error => new Error(`${JSON.stringify(text)} is not a verifier key: ${why}`);
  const parts = /^([^+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(text);
  if (parts === null) throw refuse('it is not <name>+<key id>+<base64>');
  const [, name, id, encoded] = parts as unknown as [string, string, string, string];
  const bytes = fromBase64(encoded);
  if (bytes === undefined || bytes.length === 0) throw refuse('its last part is not base64');
  const type = bytes[0]!;
  if (type !== ED25519 && type !== COSIGNATURE)
    throw refuse(
      `its signatures are of type ${type}; known are ${ED25519} (Ed25519) and ${COSIGNATURE} (cosignature/v1)`,
    );
  const publicKey = bytes.slice(1);
  if (publicKey.length !== PUBLIC_KEY_BYTES)
    throw refuse(`its key has ${counted(publicKey.length, 'byte')} instead of 32`);
  const weakness = weaknessOf(publicKey);
  if (weakness !== undefined) throw refuse(weakness);
  if (!isKeyName(name)) throw refuse('its name has a blank');
  const key = verifierKey(name, type, publicKey);
  if (key.id !== id) throw refuse(`its key id should be ${key.id}`);
  return key;
}

/** Reads a note without verifying it. Throws an Error that says what is wrong with it. */
export function parseNote(note: string): Note {
  if (note.length > NOTE_CHARS_MAX) throw new Error('the note is too long');
  if (FORBIDDEN.test(note)) throw new Error('the note holds a control character or half of a surrogate pair');
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) throw new Error('the note has no signatures after an empty line');
  const lines = note.slice(end + 2, -1).split('\n');
  if (lines.length > SIGNATURES_MAX) throw new Error(`the note has more than ${SIGNATURES_MAX} signatures`);
  return { text: note.slice(0, end + 1), signatures: lines.map(parseSignature) };
}

/** Reads a line `— <key name> <base64>` without its line feed. Throws an Error. */
export function parseSignature(line: string): NoteSignature {
  const [, name, encoded] = LINE.exec(line) ?? [];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  if (name === undefined || bytes === undefined || bytes.length <= KEY_ID_BYTES || !isKeyName(name))
    throw new Error(`${JSON.stringify(line.slice(0, 80))} is not a signature line of a note`);
  return { name, keyId: toHex(bytes.subarray(0, KEY_ID_BYTES)), bytes: bytes.slice(KEY_ID_BYTES) };
}

export const formatSignature = ({ name, keyId, bytes }: NoteSignature): string =>
  `— ${name} ${toBase64(concat([hexBytes(keyId), bytes]))}\n`;

export const formatNote = ({ text, signatures }: Note): string =>
  `${text}\n${signatures.map(formatSignature).join('')}`;

const hexBytes = (hex: string): Uint8Array =>
  Uint8Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));

/** The note's signatures by this key. */
export const signaturesBy = ({ signatures }: Note, { name, id }: VerifierKey): NoteSignature[] =>
  signatures.filter((signature) => signature.name === name && signature.keyId === id);

/**
 * Whether the key, of type ED25519, has signed the note. Throws an Error if a signature in its name does not verify: such a note
 * must be refused as a whole.
 */
export function isNoteSigned(note: Note, key: VerifierKey): boolean {
  const signatures = signaturesBy(note, key);
  const bad = signatures.find(({ bytes }) => bytes.length !== 64 || !isSigned(toUtf8(note.text), bytes, key.publicKey));
  if (bad !== undefined) throw new Error(`the signature of ${key.name} is not of this note`);
  return signatures.length > 0;
}

export const isSameKey = (a: VerifierKey, b: VerifierKey): boolean => equal(a.publicKey, b.publicKey);
