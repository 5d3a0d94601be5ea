/**
 * The snapshots of one collection: `<sequence>.snapshot`, and `….damaged` of those that did not verify, in a folder that
 * is there from the first on.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, move } from '../../shared/durable.js';

const SNAPSHOT = /^(\d{16})\.snapshot$/;

export interface SnapshotName {
  readonly path: string;
  readonly sequence: number;
  readonly sizeBytes: number;
}

/** Zero padded, so that the names sort as the sequences do. */
export const snapshotPath = (folder: string, sequence: number): string =>
  join(folder, `${String(sequence).padStart(16, '0')}.snapshot`);

/** Newest first; nothing where there is no folder. Looks into no file. */
export async function snapshotsIn(folder: string): Promise<SnapshotName[]> {
  const found: SnapshotName[] = [];
  for (const name of await namesIn(folder)) {
    const digits = SNAPSHOT.exec(name)?.[1];
    if (digits === undefined) continue;
    const path = join(folder, name);
    const sizeBytes = await sizeOf(path);
    if (sizeBytes !== undefined) found.push({ path, sequence: Number(digits), sizeBytes });
  }
  return found.sort((one, other) => other.sequence - one.sequence);
}

/** For whoever wants to look into it: under a name that no snapshot has had before. Returns that name. */
export async function setAside(path: string): Promise<string> {
  const taken = new Set(await namesIn(join(path, '..')));
  let aside = `${path}.damaged`;
  for (let n = 2; taken.has(basename(aside)); n++) aside = `${path}.damaged-${n}`;
  await move(path, aside);
  return basename(aside);
}

export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Undefined where it was removed meanwhile. */
async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
