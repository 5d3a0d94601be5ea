/**
 * The three files of a saved generation. Each is durable before the next is created. The manifest is last: an interrupted
 * build leaves a folder without one.
 *
 * ```text
 * payload         The index, as its kind writes it.
 * rows            The record of each row. See `rowsFile.ts`.
 * manifest.json   Facts, and size and checksum of both files. See `manifest.ts`.
 * ```
 */
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asUnavailable } from '../../../shared/files/asUnavailable.js';
import { codeOf, createFile, syncFile } from '../../../shared/files/durable.js';
import { hash, hashStream, toHex } from '../../../shared/hashing/hash.js';
import {
  DamagedGeneration,
  decodeManifest,
  encodeManifest,
  type FileFacts,
  type GenerationFacts,
  type Manifest,
} from './manifest.js';
import type { FileCipher } from './payloadFile.js';
import { decodeRows, encodeRows, type RowsToSave, type SavedRows } from './rowsFile.js';

/** Bytes that are hashed in about a millisecond. */
const PIECE_BYTES = 1 << 20;

/** A generation that is complete on disk. */
export interface SavedGeneration extends Manifest {
  readonly folder: string;
  /** Present if the payload is encrypted: then no later process can use the files. */
  readonly cipher?: FileCipher;
}

export const payloadPath = (folder: string): string => join(folder, 'payload');
const rowsPath = (folder: string): string => join(folder, 'rows');
export const manifestPath = (folder: string): string => join(folder, 'manifest.json');

/**
 * Makes the payload in `folder` durable, then writes the rows and the manifest. Calls `check` between steps of a few
 * milliseconds; an error that it throws ends the work. An encrypted payload gets no manifest: the next start deletes it.
 */
export async function completeGeneration(
  folder: string,
  { facts, rows }: { readonly facts: GenerationFacts; readonly rows: RowsToSave },
  check: () => void,
  isEncrypted = false,
): Promise<SavedGeneration> {
  const path = payloadPath(folder);
  await syncFile(path);
  const payload = await readPieces(path, check);
  const bytes = encodeRows(rows);
  await create(rowsPath(folder), bytes);
  check();
  const manifest: Manifest = {
    facts,
    rowCount: rows.recordIds.length,
    payload,
    rows: { sizeBytes: bytes.length, checksum: toHex(hash(bytes)) },
  };
  if (!isEncrypted) await create(manifestPath(folder), encodeManifest(manifest));
  return { folder, ...manifest };
}

/** Reads the manifest. Throws an error with code ENOENT if it is missing, and the errors of `decodeManifest`. */
export async function readSaved(folder: string): Promise<SavedGeneration> {
  return { folder, ...decodeManifest(await readFile(manifestPath(folder), 'utf8')) };
}

/**
 * Reads payload and rows, and compares both with the manifest. Throws DamagedGeneration if one differs, `unavailable` if
 * one cannot be read.
 */
export async function verifyFiles({ folder, payload, rows }: SavedGeneration, check: () => void): Promise<void> {
  await expectFile('payload', payload, () => readPieces(payloadPath(folder), check));
  await expectFile('rows', rows, () => readPieces(rowsPath(folder), check));
}

/** Reads the rows and compares them with the manifest. Blocks the thread for about a millisecond at a time. */
export async function readRows({ folder, rows, rowCount }: SavedGeneration): Promise<SavedRows> {
  const bytes = new Uint8Array(rows.sizeBytes);
  let filled = 0;
  const keep = (piece: Uint8Array): void => {
    bytes.set(piece.subarray(0, bytes.length - filled), filled);
    filled = Math.min(filled + piece.length, bytes.length);
  };
  await expectFile('rows', rows, () => readPieces(rowsPath(folder), keep));
  return decodeRows(bytes, rowCount);
}

async function create(path: string, content: Uint8Array | string): Promise<void> {
  if (!(await createFile(path, content))) throw new Error('the generation already has this file');
}

async function expectFile(name: string, expected: FileFacts, read: () => Promise<FileFacts>): Promise<void> {
  const found = await read().catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') throw new DamagedGeneration(`the file ${name} is missing`);
    throw asUnavailable(error, `the file ${name} cannot be read`);
  });
  if (found.sizeBytes !== expected.sizeBytes)
    throw new DamagedGeneration(`the file ${name} has ${found.sizeBytes} bytes, not ${expected.sizeBytes}`);
  if (found.checksum !== expected.checksum) throw new DamagedGeneration(`the file ${name} does not match its checksum`);
}

/** Returns size and checksum of a file. Calls `onPiece` with each piece; the next piece overwrites it. */
async function readPieces(path: string, onPiece: (piece: Uint8Array) => void): Promise<FileFacts> {
  const file = await open(path, 'r');
  const hashing = hashStream();
  try {
    const buffer = new Uint8Array(PIECE_BYTES);
    let sizeBytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, sizeBytes);
      if (bytesRead === 0) return { sizeBytes, checksum: toHex(hashing.digest()) };
      const piece = buffer.subarray(0, bytesRead);
      hashing.update(piece);
      sizeBytes += bytesRead;
      onPiece(piece);
    }
  } catch (error) {
    hashing.dispose();
    throw error;
  } finally {
    await file.close();
  }
}
