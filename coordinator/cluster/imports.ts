/**
 * A collection that comes as an export of another:
 *
 *   importing ──its log is what was announced──▶ finished: as any other collection
 *       └──deleted──▶ gone
 *
 * While it is importing nobody can use it, only send to it, list it and delete it.
 */
import { originOf } from '../../shared/calls.js';
import { VouchError } from '../../shared/errors.js';
import type { Collection, Imported, WantedImport } from '../backend.js';

const conflict = ({ name }: Collection, what: string): VouchError =>
  new VouchError('conflict', `collection ${JSON.stringify(name)} ${what}`);

/** The collection, where it may be used. Throws `conflict`. */
export function assertUsable(collection: Collection): Collection {
  if (collection.imported?.finished === false)
    throw conflict(collection, 'is being imported; finish the import, or delete the collection');
  return collection;
}

/** Throws `conflict` where the collection was made here. */
export function importedCollection(collection: Collection): Imported {
  const { imported } = collection;
  if (imported === undefined) throw conflict(collection, 'is there already, and was not imported');
  return { ...collection, imported };
}

/** Throws `conflict` where the name belongs to anything but the import of this very export. */
export function assertSameImport(collection: Collection, wanted: WantedImport): Imported {
  const existing = importedCollection(collection);
  const origin = originOf(existing);
  const { end } = wanted;
  const isSame =
    origin.project === wanted.origin.project &&
    origin.name === wanted.origin.name &&
    origin.id === wanted.origin.id &&
    existing.dimension === wanted.dimension &&
    existing.createdAtMs === wanted.createdAtMs &&
    existing.imported.sequence === end.sequence &&
    existing.imported.chainHead === end.chainHead &&
    existing.imported.stateHash === end.stateHash;
  if (!isSame) throw conflict(existing, 'came, or comes, from another export; choose another name');
  return existing;
}
