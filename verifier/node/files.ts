/** Files on a disk, opened for reading. */
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { ExportFile } from '../exportFile.js';
import { FileReading } from '../fileReading.js';

export async function openFile(path: string): Promise<FileReading> {
  const file = await open(path, 'r');
  return new FileReading(file, (await file.stat()).size);
}

/** Throws an Error if `path` cannot be opened or is not a regular file. */
export async function openExport(path: string): Promise<ExportFile> {
  const file = await open(path, 'r');
  const stat = await file.stat();
  if (stat.isFile()) return new ExportFile(basename(path), file, stat.size);
  await file.close();
  if (stat.isDirectory()) throw new Error(`${path} is a folder: that of a standalone node is checked with folder`);
  throw new Error(`${path} is not a regular file, so it cannot be an export`);
}
