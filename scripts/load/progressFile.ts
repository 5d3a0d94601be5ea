/**
 * The progress of a load, in a file. The service remembers only the newest request ids, so it would not recognise the first rows
 * of a long load that starts again.
 */
import { readFile } from 'node:fs/promises';
import { ifThere, replaceFile } from '../../shared/files/durable.js';
import type { Numerals } from './row.js';
import type { LogEnd } from './target.js';

export interface Reached {
  /** The address of the service. */
  readonly url: string;
  /** The collection as its checkpoints name it: `project/name/id/hash`. One that is made again has another id and hash. */
  readonly origin: string;
  readonly source: string;
  /** Distinguishes the request ids of this load from those of others; empty where they recognise each other's rows. */
  readonly load: string;
  /** Every row up to this number is inserted or rejected. */
  readonly row: number;
  readonly inserted: number;
  readonly rejected: number;
  /** The inserted rows that replaced a record, or a row, of their external id. */
  readonly replaced: number;
  /** The form in which the rows have whole numbers as external ids; undefined: none has. */
  readonly numerals?: Numerals | undefined;
  readonly rejects?: RejectsFile | undefined;
  /** The size of the log when the load began. */
  readonly beganAt?: number | undefined;
  /** The log that has these rows. */
  readonly log?: LogEnd | undefined;
}

export interface RejectsFile {
  readonly path: string;
  /** The rows that were rejected before, whose reasons are in other files. */
  readonly earlier: number;
}

/** The file for the rejected rows of a load. `path`: the one that the command names. `noted`: the progress that the load continues. */
export function rejectsFileOf(path: string | undefined, noted: Reached | undefined): RejectsFile | undefined {
  if (path === undefined) return noted?.rejects;
  if (noted === undefined) return { path, earlier: 0 };
  const { rejects = { path, earlier: 0 }, rejected } = noted;
  return rejects.path === path ? rejects : { path, earlier: rejected };
}

/** The row up to which a file of rejected rows is of the load that continues after `noted`. */
export const rejectedUpTo = (path: string | undefined, noted: Reached | undefined): number =>
  noted === undefined || noted.rejected === 0 || (noted.rejects !== undefined && noted.rejects.path !== path)
    ? 0
    : noted.row;

/** Reads a progress file, if it exists. Throws an Error of one line. */
export async function readReached(path: string | undefined, source: string): Promise<Reached | undefined> {
  const text = path === undefined ? undefined : await ifThere(readFile(path, 'utf8'));
  if (text === undefined) return undefined;
  const reached = parsed(text);
  if (reached === undefined || reached.source !== source)
    throw new Error(`${path} is not of a load of ${source}: remove it, or name another one with --progress`);
  return reached;
}

/**
 * Whether a load continues where `noted` ends. False: the collection was made again. Throws an Error of one line if `path` is of a
 * load into another collection.
 */
export function continues(noted: Reached, path: string, url: string, { project, name, origin }: Target): boolean {
  if (origin === noted.origin) return true;
  const [notedProject, notedName] = noted.origin.split('/');
  if (url === noted.url && project === notedProject && name === notedName) return false;
  throw new Error(
    `${path} is of a load into ${notedName} of project ${notedProject} at ${noted.url}: name another file with --progress`,
  );
}

/** The collection of a load. `origin` undefined: it does not exist. */
export interface Target {
  readonly project: string;
  readonly name: string;
  readonly origin: string | undefined;
}

export const noteReached = (path: string, reached: Reached): Promise<void> =>
  replaceFile(path, `${JSON.stringify(reached)}\n`);

function parsed(text: string): Reached | undefined {
  try {
    // Files of version 0.2 lack the fields from `replaced` on.
    const reached: Reached = { replaced: 0, ...(JSON.parse(text) as Omit<Reached, 'replaced'>) };
    const counts = [reached.row, reached.inserted, reached.rejected, reached.replaced];
    const texts = [reached.url, reached.origin, reached.source, reached.load];
    return counts.every(Number.isSafeInteger) && texts.every((text) => typeof text === 'string') ? reached : undefined;
  } catch {
    return undefined;
  }
}
