/**
 * Destroying a vault key.
 *
 * ```text
 * active ──1──▶ shredded, its collections pending ──2──▶ none pending ──3──▶ settled ──4──▶ answered
 *
 * 1  one replacement in the vault, after which no process uses the key: the point of no return. A note is written before it, by
 *    which shards find an interrupted shred
 * 2  every collection that may have records under the key commits the shred; after an interruption the shards do it
 * 3  every server of the vault has erased the key. The shards wait for a server that is away
 * 4  the answer is sent only when the key is destroyed everywhere
 * ```
 *
 * A shred that is interrupted before 1 has done nothing; after 1, a repetition or the shards finish it.
 *
 * A key that the vault never knew is created as a shredded one, in a single step. It needs no note, since no collection has
 * records under it; the number of such keys in a project is bounded.
 */

import { isImporting } from '../../shared/registry/catalogEntry.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { EntryName } from '../../shared/vault/entryName.js';
import type { ShredNotes } from '../../shared/vault/shredNotes.js';
import { isDeletion } from '../cluster/catalog/deleted.js';
import type { Backend } from '../cluster/clusterBackend.js';

const CONCURRENT_COLLECTIONS = 16;

type ShredBackend = Pick<Backend, 'findById' | 'list' | 'call' | 'keyEntries' | 'shredNotes' | 'countUnknownKey'>;

/** Resolves when the key is destroyed everywhere. Throws `unavailable` if that is uncertain. May be repeated at any time. */
export async function shredKey(
  backend: ShredBackend,
  project: string,
  keyId: string,
  envelope: Envelope,
): Promise<void> {
  const { keyEntries } = backend;
  const notes = await backend.shredNotes();
  const before = await keyEntries.find(project, keyId, envelope);
  if (before !== 'damaged' && before?.status === 'shredded' && before.pendingIds.length === 0)
    return keyEntries.settle(project, keyId, envelope);
  const { pendingIds, wasKnown } = await destroyKey(backend, notes, { project, keyId }, envelope);
  const done: number[] = [];
  const commit = async (collectionId: number): Promise<void> => {
    if (await commitShred(backend, collectionId, keyId, envelope)) done.push(collectionId);
  };
  try {
    await mapConcurrent(pendingIds, CONCURRENT_COLLECTIONS, commit);
  } catch (error) {
    await keyEntries.strikeOff(project, keyId, done, envelope);
    throw error;
  }
  const left = pendingIds.length === 0 ? [] : await keyEntries.strikeOff(project, keyId, done, envelope);
  await keyEntries.settle(project, keyId, envelope);
  // If this fails, a shard removes the note.
  if (wasKnown && left.length === 0) await notes.clear(project, keyId).catch(() => undefined);
}

/**
 * Replaces the key's entry in the vault with a shredded one. A damaged entry no longer lists the collections with records under
 * the key: each collection of the project may have some.
 */
async function destroyKey(
  backend: ShredBackend,
  notes: ShredNotes,
  { project, keyId }: EntryName,
  envelope: Envelope,
): Promise<{ pendingIds: readonly number[]; wasKnown: boolean }> {
  for (;;) {
    const stored = await backend.keyEntries.find(project, keyId, envelope);
    const wasKnown = stored !== undefined;
    if (wasKnown) await notes.set(project, keyId, envelope.actor);
    else await backend.countUnknownKey(project);
    if (stored !== 'damaged' && stored?.status === 'shredded') return { pendingIds: stored.pendingIds, wasKnown };
    const collectionIds =
      stored === 'damaged'
        ? (await backend.list(project, envelope)).map(({ id }) => id)
        : (stored?.collectionIds ?? []);
    if (await backend.keyEntries.destroy({ project, keyId }, stored, collectionIds, envelope))
      return { pendingIds: collectionIds, wasKnown };
    // An insert has added its collection meanwhile, or another shred was first.
  }
}

/**
 * Commits the shred in one collection. False while the collection is being imported: it cannot be read yet, and its shard
 * commits pending shreds at the end of the import. A deleted collection has nothing to commit.
 */
async function commitShred(
  backend: ShredBackend,
  collectionId: number,
  keyId: string,
  envelope: Envelope,
): Promise<boolean> {
  const collection = await backend.findById(collectionId);
  if (collection === undefined) return true;
  if (isImporting(collection)) return false;
  try {
    await backend.call(collection, { op: 'shredKey', keyId }, envelope);
  } catch (error) {
    if (!isDeletion(error)) throw error;
  }
  return true;
}
