import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteTree } from '../shared/files/durable.js';

export const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'vouch-bench-'));

/** Runs `work` over a temporary folder, which is deleted in the end. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await newFolder();
  try {
    return await work(folder);
  } finally {
    await deleteTree(folder);
  }
}
