/**
 * The file that holds the master key. With it and the vault every encrypted record that is not shredded can be read;
 * without it none can.
 *
 *   0 "VMK1" | 4 u8 keys (1 or 2) | 5 three zero bytes | 8 a key (32), the newest first | checksum (16): the first bytes
 *   of BLAKE3 over everything before
 *
 * It holds two keys during a rotation.
 */
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, createFile, makeDirectory, OTHERS_MODE, supersedeFile } from '../../shared/files/durable.js';
import { hash, toHex } from '../../shared/hashing/hash.js';

export const MASTER_KEY_BYTES = 32;
export const MASTER_KEY_ID_BYTES = 8;

export interface MasterKey {
  /** 16 hex, from the key's hash: identifies the key and says nothing about it. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** The file cannot be used. The message is one line for the operator, with the path and what to do; the cause is the system's. */
export class MasterKeyFileError extends Error {
  override name = 'MasterKeyFileError';
}

const MAGIC = Buffer.from('VMK1');
const KEYS_AT = 8;
const CHECKSUM_BYTES = 16;
const KEYS_MAX = 2;
const READS_MAX = 3;
const ID_DOMAIN = Buffer.from('vouch master key id');

export function masterKeyOf(bytes: Uint8Array): MasterKey {
  const named = Buffer.concat([ID_DOMAIN, bytes]);
  const id = toHex(hash(named).subarray(0, MASTER_KEY_ID_BYTES));
  named.fill(0);
  return { id, bytes };
}

/** Newest first; undefined where there is no such file. Throws MasterKeyFileError. */
export async function readMasterKeyFile(path: string): Promise<readonly MasterKey[] | undefined> {
  for (let reads = 1; ; reads++) {
    const content = await privateContent(path);
    if (content === undefined) return undefined;
    try {
      return parse(content, path);
    } catch (error) {
      // The opened file may have been superseded, and erased while it was read.
      if (reads === READS_MAX) throw error;
    } finally {
      content.fill(0);
    }
  }
}

/** False where the file exists already. */
export async function createMasterKeyFile(path: string, key: MasterKey): Promise<boolean> {
  const content = serialize([key]);
  try {
    await makeDirectory(dirname(path));
    return await createFile(path, content);
  } catch (error) {
    throw new MasterKeyFileError(
      `the master key file ${path} cannot be made (${codeOf(error) ?? error}); set VOUCH_MASTER_KEY_FILE`,
    );
  } finally {
    content.fill(0);
  }
}

/** Durable when it resolves; the file's former content is erased. */
export async function replaceMasterKeyFile(path: string, keys: readonly MasterKey[]): Promise<void> {
  const content = serialize(keys);
  try {
    await supersedeFile(path, content);
  } finally {
    content.fill(0);
  }
}

async function privateContent(path: string): Promise<Buffer | undefined> {
  try {
    const file = await open(path, 'r');
    try {
      if (((await file.stat()).mode & OTHERS_MODE) !== 0)
        throw new MasterKeyFileError(`the master key file ${path} can be read by others; run: chmod 600 ${path}`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === undefined) throw error;
    throw new MasterKeyFileError(`the master key file ${path} cannot be read (${code})`, { cause: error });
  }
}

function parse(content: Buffer, path: string): readonly MasterKey[] {
  const refuse = (reason: string): never => {
    throw new MasterKeyFileError(`the master key file ${path} ${reason}; restore it from a copy of it`);
  };
  if (content.length < KEYS_AT || !content.subarray(0, MAGIC.length).equals(MAGIC))
    refuse('is none, or of a version that is not known here');
  const count = content[4]!;
  const checksumAt = KEYS_AT + count * MASTER_KEY_BYTES;
  if (count < 1 || count > KEYS_MAX || content.length !== checksumAt + CHECKSUM_BYTES) refuse('is not whole');
  if (!checksumOf(content, checksumAt).equals(content.subarray(checksumAt)))
    refuse('is damaged: its checksum does not verify');
  return Array.from({ length: count }, (_, index) => {
    const at = KEYS_AT + index * MASTER_KEY_BYTES;
    // A copy in memory of its own, not in a pool that others read and write.
    return masterKeyOf(Uint8Array.from(content.subarray(at, at + MASTER_KEY_BYTES)));
  });
}

function serialize(keys: readonly MasterKey[]): Buffer {
  if (keys.length < 1 || keys.length > KEYS_MAX)
    throw new RangeError(`${keys.length} master keys cannot stand in a file`);
  const checksumAt = KEYS_AT + keys.length * MASTER_KEY_BYTES;
  const content = Buffer.alloc(checksumAt + CHECKSUM_BYTES);
  content.set(MAGIC);
  content[4] = keys.length;
  for (const [index, { bytes }] of keys.entries()) content.set(bytes, KEYS_AT + index * MASTER_KEY_BYTES);
  content.set(checksumOf(content, checksumAt), checksumAt);
  return content;
}

const checksumOf = (content: Buffer, end: number): Buffer =>
  Buffer.from(hash(content.subarray(0, end)).subarray(0, CHECKSUM_BYTES));
