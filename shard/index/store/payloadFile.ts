/**
 * The file of an index's payload. A collection with contents under keys has encrypted ones: the key exists only in the memory of this
 * process. The file is deleted once the index is open. So no such content is on disk in plain, and what a crash leaves cannot be
 * read.
 */
import { type Cipher, createCipheriv, createDecipheriv, type Decipher } from 'node:crypto';
import { DurableFile } from '../../../shared/files/durable.js';

/** AES-256-CTR: bytes at any offset can be read and written. The manifest's checksum covers the encrypted bytes. */
const CIPHER = 'aes-256-ctr';
const BLOCK_BYTES = 16;

export interface FileCipher {
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** Number of the generation: unlike any other under the key. */
  readonly number: number;
}

export interface PayloadPlace {
  readonly path: string;
  readonly cipher?: FileCipher | undefined;
}

export interface PayloadFile {
  sizeBytes(): Promise<number>;
  /** Fills `into` from the byte at `offset`. Returns the number of bytes read. */
  read(into: Uint8Array, offset: number): Promise<number>;
  /** Each byte is written once. */
  write(bytes: Uint8Array, offset: number): Promise<void>;
  close(): Promise<void>;
}

/** Makes a new file for the duration of `write`, and returns the result of that. */
export async function writePayload<Result>(
  { path, cipher }: PayloadPlace,
  write: (file: PayloadFile) => Promise<Result>,
): Promise<Result> {
  const file = encrypted(await DurableFile.create(path), cipher);
  try {
    return await write(file);
  } finally {
    await file.close();
  }
}

/** Opens an existing file. */
export const openPayload = async ({ path, cipher }: PayloadPlace): Promise<PayloadFile> =>
  encrypted(await DurableFile.open(path), cipher);

function encrypted(file: DurableFile, cipher: FileCipher | undefined): PayloadFile {
  if (cipher === undefined) return file;
  return {
    sizeBytes: () => file.sizeBytes(),
    read: async (into, offset) => {
      const bytes = await file.read(into, offset);
      into.set(at(createDecipheriv(CIPHER, cipher.key, ivAt(cipher, offset)), offset).update(into.subarray(0, bytes)));
      return bytes;
    },
    write: (bytes, offset) =>
      file.write(at(createCipheriv(CIPHER, cipher.key, ivAt(cipher, offset)), offset).update(bytes), offset),
    close: () => file.close(),
  };
}

/** u64 generation ‖ u64 block, big-endian, as the cipher counts. */
function ivAt({ number }: FileCipher, offset: number): Uint8Array {
  const iv = new DataView(new ArrayBuffer(BLOCK_BYTES));
  iv.setBigUint64(0, BigInt(number));
  iv.setBigUint64(8, BigInt(Math.floor(offset / BLOCK_BYTES)));
  return new Uint8Array(iv.buffer);
}

/** Skips the part of a block before the offset. */
function at<C extends Cipher | Decipher>(cipher: C, offset: number): C {
  cipher.update(new Uint8Array(offset % BLOCK_BYTES));
  return cipher;
}
