/**
 * The file with the master key. With it and the vault every encrypted record that is not shredded can be read; without
 * it none can. Offsets in bytes:
 *
 * ```text
 * 0 "VMK1" | 4 u8 keys (1 or 2) | 5 three zero bytes | 8 keys (32 each), newest first |
 * checksum (16): the first bytes of BLAKE3 over all before.
 * ```
 *
 * There are two keys during a rotation.
 */
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, createFile, makeDirectory, OTHERS_MODE, supersedeFile } from '../../shared/files/durable.js';
import { hash, toHex } from '../../shared/hashing/hash.js';

export const MASTER_KEY_BYTES = 32;
export const MASTER_KEY_ID_BYTES = 8;

export interface MasterKey {
  /** 16 hex digits of the key's hash. They identify the key and reveal nothing about it. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

/**
 * Thrown if the file cannot be used. The message is one line for the operator, with the path and what to do. The cause
 * is the system's error.
 */
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

/** Returns the keys, newest first; undefined without a file. Throws MasterKeyFileError. */
export async function readMasterKeyFile(path: string): Promise<readonly MasterKey[] | undefined> {
  for (let reads = 1; ; reads++) {
    const content = await privateContent(path);
    if (content === undefined) return undefined;
    try {
      return parse(content, path);
    } catch (error) {
      // The opened file may have been superseded, and erased during the read.
      if (reads === READS_MAX) throw error;
    } finally {
      content.fill(0);
    }
  }
}

/** Returns false if the file exists. */
export async function createMasterKeyFile(path: string, key: MasterKey): Promise<boolean> {
  const content = serialize([key]);
  try {
    await makeDirectory(dirname(path));
    return await createFile(path, content);
  } catch (error) {
    throw new MasterKeyFileError(
      `the master key file ${path} cannot be made (${codeOf(error) ?? error}); set VOUCH_MASTER_KEY_FILE to a path that this process can write`,
    );
  } finally {
    content.fill(0);
  }
}

/** Replaces the file, durably, and erases its former content. */
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
    throw new MasterKeyFileError(`the master key file ${path} ${reason}; restore it from a backup`);
  };
  if (content.length < KEYS_AT || !content.subarray(0, MAGIC.length).equals(MAGIC))
    refuse('has no header of this version');
  const count = content[4]!;
  const checksumAt = KEYS_AT + count * MASTER_KEY_BYTES;
  if (count < 1 || count > KEYS_MAX || content.length !== checksumAt + CHECKSUM_BYTES) refuse('is not whole');
  if (!checksumOf(content, checksumAt).equals(content.subarray(checksumAt)))
    refuse('is damaged: its checksum does not verify');
  return Array.from({ length: count }, (_, index) => {
    const at = KEYS_AT + index * MASTER_KEY_BYTES;
    // Copy to private memory, not to a pool that others read and write.
    return masterKeyOf(Uint8Array.from(content.subarray(at, at + MASTER_KEY_BYTES)));
  });
}

function serialize(keys: readonly MasterKey[]): Buffer {
  if (keys.length < 1 || keys.length > KEYS_MAX) throw new RangeError(`${keys.length} master keys do not fit a file`);
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
