/**
 * The file of an entry of a directory bucket: its name, and its content, JSON that an operator can read.
 *
 * ```text
 * {"version":1,"key":…,"revision":…,"value":…,"checksum":"16 hex: the first 8 bytes of BLAKE3 of [version,key,revision,value]"}
 * ```
 */
import { hash, toHex } from '../hashing/hash.js';
import { type BucketValue, checkKey, type Entry } from './bucket.js';
import { deepFreeze } from './watchers.js';

const VERSION = 1;
const EXTENSION = '.json';
/** Longest escaped key in a file name, which has at most 255 bytes; escaping may triple a key's length. */
const ESCAPED_MAX_CHARS = 200;
const ESCAPED_KEPT_CHARS = 100;

/**
 * The file name of a key, of lower-case letters, digits and `_.=-%~`, without a dot at the begin. It is unique, also on file
 * systems that ignore case. Throws `validation_error` if the key is malformed.
 */
export function fileNameOf(key: string): string {
  checkKey(key);
  const escaped = key.replace(/[A-Z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  if (escaped.length <= ESCAPED_MAX_CHARS) return escaped + EXTENSION;
  return `${escaped.slice(0, ESCAPED_KEPT_CHARS)}~${toHex(hash(Buffer.from(key)))}${EXTENSION}`;
}

export const isEntryFile = (name: string): boolean => name.endsWith(EXTENSION) && !name.startsWith('.');

const checksumOf = (key: string, revision: number, value: BucketValue): string =>
  toHex(hash(Buffer.from(JSON.stringify([VERSION, key, revision, value]))).subarray(0, 8));

export function encodeEntry({ key, revision, value }: Entry): string {
  const checksum = checksumOf(key, revision, value);
  return `${JSON.stringify({ version: VERSION, key, revision, value, checksum })}\n`;
}

/** Throws an Error if the content is not an entry for this file name. */
export function decodeEntry(name: string, content: string): Entry {
  const stored: unknown = JSON.parse(content);
  if (typeof stored !== 'object' || stored === null) throw new Error('it holds no entry');
  const { version, key, revision, value, checksum } = stored as Record<string, BucketValue>;
  if (version !== VERSION)
    throw new Error(`entry version ${String(version)} is not known here; this program reads version ${VERSION}`);
  if (typeof key !== 'string' || typeof revision !== 'number' || value === undefined)
    throw new Error('it holds no entry');
  if (checksum !== checksumOf(key, revision, value)) throw new Error('its checksum does not verify');
  if (fileNameOf(key) !== name) throw new Error(`it holds the entry of ${key}`);
  return Object.freeze({ key, revision, value: deepFreeze(value) });
}
