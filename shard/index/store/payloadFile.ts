/**
 * The file of an index's payload. A collection with contents under keys has sealed ones: the key exists only in the memory of this
 * process. The file is deleted once the index is open. So no such content is on disk in plain, and what a crash leaves cannot be
 * read.
 */
import { type Cipher, createCipheriv, createDecipheriv, type Decipher } from 'node:crypto';
import { DurableFile } from '../../../shared/files/durable.js';

/** AES-256-CTR: bytes at any offset can be read and written. The manifest's checksum covers the sealed bytes. */
const CIPHER = 'aes-256-ctr';
const BLOCK_BYTES = 16;

export interface PayloadSeal {
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** Number of the generation: unlike any other under the key. */
  readonly number: number;
}

export interface PayloadPlace {
  readonly path: string;
  readonly seal?: PayloadSeal | undefined;
}

export interface PayloadFile {
  sizeBytes(): Promise<number>;
  /** Fills `into` from the byte at `offset`. Returns the number of bytes read. */
  read(into: Uint8Array, offset: number): Promise<number>;
  /** Each byte is written once. */
  write(bytes: Uint8Array, offset: number): Promise<void>;
  close(): Promise<void>;
}

/** Makes a new file. */
export const createPayload = async ({ path, seal }: PayloadPlace): Promise<PayloadFile> =>
  sealed(await DurableFile.create(path), seal);

/** Opens an existing file. */
export const openPayload = async ({ path, seal }: PayloadPlace): Promise<PayloadFile> =>
  sealed(await DurableFile.open(path), seal);

function sealed(file: DurableFile, seal: PayloadSeal | undefined): PayloadFile {
  if (seal === undefined) return file;
  return {
    sizeBytes: () => file.sizeBytes(),
    read: async (into, offset) => {
      const bytes = await file.read(into, offset);
      into.set(at(createDecipheriv(CIPHER, seal.key, ivAt(seal, offset)), offset).update(into.subarray(0, bytes)));
      return bytes;
    },
    write: (bytes, offset) =>
      file.write(at(createCipheriv(CIPHER, seal.key, ivAt(seal, offset)), offset).update(bytes), offset),
    close: () => file.close(),
  };
}

/** u64 generation ‖ u64 block, big-endian, as the cipher counts. */
function ivAt({ number }: PayloadSeal, offset: number): Uint8Array {
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
