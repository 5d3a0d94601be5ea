/** The folder of one collection's snapshots: `<sequence>.snapshot`, and `….damaged` for those that did not verify. */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, fileBytes, move } from '../../shared/files/durable.js';

const SNAPSHOT = /^(\d{16})\.snapshot$/;

export interface SnapshotName {
  readonly path: string;
  readonly sequence: number;
  readonly sizeBytes: number;
}

/** The path of a snapshot. Numbers are zero padded, so that names sort by sequence. */
export const snapshotPath = (folder: string, sequence: number): string =>
  join(folder, `${String(sequence).padStart(16, '0')}.snapshot`);

/** Returns the snapshots, newest first; empty without a folder. Opens no file. */
export async function snapshotsIn(folder: string): Promise<SnapshotName[]> {
  const found: SnapshotName[] = [];
  for (const name of await namesIn(folder)) {
    const digits = SNAPSHOT.exec(name)?.[1];
    if (digits === undefined) continue;
    const path = join(folder, name);
    const sizeBytes = await fileBytes(path);
    if (sizeBytes !== undefined) found.push({ path, sequence: Number(digits), sizeBytes });
  }
  return found.sort((one, other) => other.sequence - one.sequence);
}

/** Renames a damaged snapshot, for inspection, to a free name. Returns that name. */
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
