/** Reads the catalog of collections, which has the ids of their logs by name. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type JsonObject, objectOf, parseJson, textOf, wholeOf } from '../json.js';
import { type Reached, reachedIn } from '../reached.js';

export interface CatalogItem {
  readonly id: bigint;
  readonly project: string;
  readonly name: string;
  /** The names in its genesis; an imported collection keeps its first ones. */
  readonly origin: { readonly id: bigint; readonly project: string; readonly name: string };
  /** Whether its reads are audited now. */
  readonly isAudited: boolean;
}

/** Reads the catalog of a standalone node. Throws an Error of one line if the folder is not a node's. */
export async function readFolderCatalog(dataDir: string): Promise<CatalogItem[]> {
  const folder = join(dataDir, 'registry', 'vouch-catalog');
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    throw new Error(
      `${dataDir} is not the data folder of a standalone node: the logs of a cluster are checked with stream`,
      {
        cause: error,
      },
    );
  }
  const files = names.filter((name) => name.endsWith('.json') && !name.startsWith('.'));
  const items = await Promise.all(
    files.map(async (name) => {
      const entry = objectOf(parseJson(await readFile(join(folder, name)), name), name);
      const value = objectOf(entry.value, name);
      return isAlias(value) ? [] : [itemOf(value, textOf(entry, 'key'))];
    }),
  );
  return items.flat();
}

/** Reads the watermark of a standalone node; undefined before the first commit. */
export async function readFolderReached(dataDir: string, collectionId: bigint): Promise<Reached | undefined> {
  const name = `${collectionId}.json`;
  try {
    const entry = parseJson(await readFile(join(dataDir, 'registry', 'vouch-watermarks', name)), name);
    return reachedIn(objectOf(objectOf(entry, name).value, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether the entry is an alias of a collection, which has no log. */
export const isAlias = (value: JsonObject): boolean => value.alias !== undefined;

/** Throws an Error unless the entry's names match its key, by which the service finds it. */
export function itemOf(value: JsonObject, key: string): CatalogItem {
  const named = namedIn(value);
  if (key !== `${named.project}.${named.name}`)
    throw new Error(`the entry ${key} of the catalog is of another collection: ${named.project}/${named.name}`);
  const origin = value.origin === undefined ? named : namedIn(objectOf(value.origin, 'the origin'));
  return { ...named, origin, isAudited: value.audit_reads !== undefined };
}

const namedIn = (value: JsonObject): CatalogItem['origin'] => ({
  id: wholeOf(value, 'id'),
  project: textOf(value, 'project'),
  name: textOf(value, 'name'),
});

/** The requested collections, by id. Throws an Error of one line if no collection matches, or several have one name. */
export function choose(
  items: readonly CatalogItem[],
  collection: string | undefined,
  project: string | undefined,
): CatalogItem[] {
  const within = items.filter((item) => project === undefined || item.project === project);
  if (collection === undefined) return within.sort((a, b) => Number(a.id - b.id));
  const named = within.filter(({ name }) => name === collection);
  const found = named.length > 0 ? named : within.filter(({ id }) => String(id) === collection);
  if (found.length === 0) throw new Error(`found no collection ${collection}; ${listed(within)}`);
  if (found.length > 1) throw new Error(`${collection} is a collection of several projects; name one with --project`);
  return found;
}

const listed = (items: readonly CatalogItem[]): string =>
  items.length === 0
    ? 'there are none'
    : `there are ${items.map(({ project, name }) => `${project}/${name}`).join(', ')}`;
