/**
 * Which master key is in force: an entry of the vault like any other, made by the first process that used the vault, whose
 * wrapped key names its master key. New data keys go under that one, on every machine, whatever their files hold. A rotation
 * moves the mark first, and then everything else.
 */
import type { StoredVaultEntry } from '../../shared/vault/vaultStore.js';
import { type KeyName, masterIdOf } from './wrappedKey.js';

/** No project has such a name. */
export const MARK: KeyName = { project: '.master', keyId: '0'.repeat(32) };

export const isMark = ({ project }: KeyName): boolean => project === MARK.project;

/** The master key that the entry is under; undefined for a shredded one. Throws VouchError `internal_error`. */
export const masterOf = (stored: StoredVaultEntry): string | undefined =>
  stored.entry.wrapped === null ? undefined : masterIdOf(stored.entry.wrapped, stored);
