import type { VaultStore } from './vaultStore.js';

/**
 * The logs of these collections state now that the key is shredded, or are gone: they are pending no more. Resolves to
 * those that still are.
 */
export async function strikeOff(
  vault: VaultStore,
  project: string,
  keyId: string,
  collectionIds: readonly number[],
): Promise<readonly number[]> {
  for (;;) {
    const stored = await vault.get(project, keyId);
    if (stored === undefined) return [];
    const pendingIds = stored.entry.pendingIds.filter((id) => !collectionIds.includes(id));
    if (pendingIds.length === stored.entry.pendingIds.length) return pendingIds;
    if ((await vault.replace(stored, { ...stored.entry, pendingIds })) !== undefined) return pendingIds;
  }
}
