/**
 * The progress of a load, in a file. The service remembers only the newest request ids, so it would not recognise the first rows
 * of a long load that starts again.
 */
import { readFile } from 'node:fs/promises';
import { ifThere, replaceFile } from '../../shared/files/durable.js';

export interface Reached {
  /** The service's id of the collection, which a new collection of the same name does not share. */
  readonly collectionId: number;
  readonly source: string;
  /** Every row up to this number is inserted or rejected. */
  readonly row: number;
  readonly inserted: number;
  readonly rejected: number;
}

const nothing = (collectionId: number, source: string): Reached => ({
  ...{ collectionId, source },
  ...{ row: 0, inserted: 0, rejected: 0 },
});

/** The progress of an interrupted load. `path` undefined: none. Throws an Error of one line. */
export async function reachedBefore(path: string | undefined, collectionId: number, source: string): Promise<Reached> {
  const text = path === undefined ? undefined : await ifThere(readFile(path, 'utf8'));
  if (text === undefined) return nothing(collectionId, source);
  const reached = parsed(text);
  if (reached === undefined || reached.source !== source)
    throw new Error(`${path} is not of a load of ${source}: remove it, or name another one with --progress`);
  return reached.collectionId === collectionId ? reached : nothing(collectionId, source);
}

export const noteReached = (path: string, reached: Reached): Promise<void> =>
  replaceFile(path, `${JSON.stringify(reached)}\n`);

function parsed(text: string): Reached | undefined {
  try {
    const reached = JSON.parse(text) as Reached;
    const counts = [reached.collectionId, reached.row, reached.inserted, reached.rejected];
    return counts.every(Number.isSafeInteger) && typeof reached.source === 'string' ? reached : undefined;
  } catch {
    return undefined;
  }
}
