/**
 * Destroying a vault key.
 *
 *   active ──1──▶ shredded, its collections pending ──2──▶ none pending ──3──▶ settled ──4──▶ answered
 *
 *   1  one replacement in the vault, after which nobody uses the key any more: the point of no return. A mark comes before
 *      it, by which shards find what is cut short
 *   2  every collection that may hold records under the key commits that it is shredded; their shards do so on their own
 *      where this is cut short
 *   3  no byte of the key is left on any server that holds the vault. One that is away is waited for by the shards
 *   4  whoever is told that it is done finds it done, everywhere
 *
 * Cut short before 1, nothing has happened; after it, a repetition or the shards finish it.
 */
import { VouchError } from '../../shared/errors.js';
import { severalAtOnce } from '../../shared/severalAtOnce.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { orDamaged } from '../../shared/vault/entryName.js';
import { strikeOff } from '../../shared/vault/pendingShred.js';
import { forget, type StoredVaultEntry, type VaultEntry, type VaultStore } from '../../shared/vault/vaultStore.js';
import type { Backend } from '../backend.js';

const COLLECTIONS_AT_ONCE = 16;

type Owners = Pick<Backend, 'findById' | 'list' | 'call' | 'vault' | 'shredMarks'>;

/**
 * Resolves when it is done everywhere. Throws `unavailable` where that is not certain: then it may be repeated, as it may
 * at any time.
 */
export async function shredKey(backend: Owners, project: string, keyId: string, envelope: Envelope): Promise<void> {
  const [vault, marks] = await Promise.all([backend.vault(), backend.shredMarks()]);
  const before = await vault.get(project, keyId).catch(orDamaged);
  if (before !== 'damaged') forget(before);
  if (before !== 'damaged' && before?.entry.status === 'shredded' && before.entry.pendingIds.length === 0)
    return vault.settle(project, keyId);
  await marks.set(project, keyId);
  const everyCollection = async (): Promise<number[]> => (await backend.list(project, envelope)).map(({ id }) => id);
  const { pendingIds } = await destroyKey(vault, { project, keyId }, everyCollection);
  const done: number[] = [];
  const commit = async (collectionId: number): Promise<void> => {
    if (await commitShred(backend, collectionId, keyId, envelope)) done.push(collectionId);
  };
  try {
    await severalAtOnce(pendingIds, COLLECTIONS_AT_ONCE, commit);
  } catch (error) {
    await strikeOff(vault, project, keyId, done);
    throw error;
  }
  const left = pendingIds.length === 0 ? [] : await strikeOff(vault, project, keyId, done);
  await vault.settle(project, keyId);
  // Where this fails, a shard takes it away.
  if (left.length === 0) await marks.clear(project, keyId).catch(() => undefined);
}

/**
 * What the vault says of the key from then on. A key that never was is shredded too, and can never come to be. An entry that
 * is damaged does not say any more which collections have records under the key: it may be any of the project.
 */
async function destroyKey(
  vault: VaultStore,
  { project, keyId }: Pick<StoredVaultEntry, 'project' | 'keyId'>,
  everyCollection: () => Promise<readonly number[]>,
): Promise<VaultEntry> {
  for (;;) {
    const stored = await vault.get(project, keyId).catch(orDamaged);
    if (stored !== 'damaged') forget(stored);
    if (stored !== 'damaged' && stored?.entry.status === 'shredded') return stored.entry;
    const collectionIds = stored === 'damaged' ? await everyCollection() : (stored?.entry.collectionIds ?? []);
    const shredded = { status: 'shredded', wrapped: null, collectionIds, pendingIds: collectionIds } as const;
    if ((await put(vault, { project, keyId }, stored, shredded)) !== undefined) return shredded;
    // An insert has entered its collection in between, or another shred was quicker.
  }
}

function put(
  vault: VaultStore,
  { project, keyId }: Pick<StoredVaultEntry, 'project' | 'keyId'>,
  stored: StoredVaultEntry | 'damaged' | undefined,
  entry: VaultEntry,
): Promise<number | undefined> {
  if (stored === 'damaged') return vault.replaceDamaged(project, keyId, entry);
  return stored === undefined ? vault.create(project, keyId, entry) : vault.replace(stored, entry);
}

/**
 * False where the collection is still being imported: nothing of it can be seen yet, its log must not grow but by the
 * import, and its shard commits what is pending when that is over. One that was deleted has nothing to commit to.
 */
async function commitShred(backend: Owners, collectionId: number, keyId: string, envelope: Envelope): Promise<boolean> {
  const collection = await backend.findById(collectionId);
  if (collection === undefined) return true;
  if (collection.imported?.finished === false) return false;
  try {
    await backend.call(collection, { op: 'shredKey', keyId }, envelope);
  } catch (error) {
    if (!(error instanceof VouchError && error.code === 'collection_not_found')) throw error;
  }
  return true;
}
