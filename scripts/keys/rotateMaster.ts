/**
 * Replaces the master key while the service runs.
 *
 * ```text
 * one key in the file ──1──▶ new and old ──2──▶ new key in force ──3──▶ no data key under the old ──4──▶ only the new
 *
 * 1  the new key is added to the file, which can be copied to other machines before any data key depends on it
 * 2  the vault names the new key, under which every shard wraps from now on: see `wrappedKey.ts`
 * 3  every data key is rewrapped, and its old form is erased
 * 4  the old key is erased from the file: remains of its wrapped keys can no longer be opened, also those of shredded keys whose
 *    erasure was interrupted
 * ```
 *
 * After an interruption the command resumes without loss.
 */
import { dirname } from 'node:path';
import { DataKeys } from '../../shard/vault/dataKeys.js';
import {
  MASTER_KEY_BYTES,
  type MasterKey,
  masterKeyOf,
  readMasterKeyFile,
  replaceMasterKeyFile,
} from '../../shard/vault/masterKeyFile.js';
import { isMasterEntry, MASTER_ENTRY, masterOf } from '../../shard/vault/wrappedKey.js';
import type { Entropy } from '../../shared/clock.js';
import { deleteLeftovers, finishSuperseding } from '../../shared/files/durable.js';
import { type LockHolder, takeLock } from '../../shared/files/folderLock.js';
import { silentLogger } from '../../shared/logger.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import type { StoredVaultEntry, VaultStore } from '../../shared/vault/vaultStore.js';

export interface RotationOptions {
  readonly vault: VaultStore;
  readonly masterKeyFile: string;
  readonly entropy: Entropy;
  /** Stops after step 1. */
  readonly prepareOnly: boolean;
  /** Abandons damaged entries: they cannot be opened even if they are repaired later. */
  readonly forgetDamaged: boolean;
  /** Called for each key of step 3. */
  readonly onProgress: (done: number, total: number) => void;
}

export interface Rotation {
  readonly outcome: 'prepared' | 'rotated';
  readonly oldId: string;
  readonly newId: string;
  /** The number of data keys that this run rewrapped. */
  readonly rewrapped: number;
}

interface MasterPair {
  readonly fresh: MasterKey;
  readonly old: MasterKey;
}

const AT_ONCE = 16;

/** Throws an Error of one line that says what to do. */
export async function rotateMaster(options: RotationOptions): Promise<Rotation> {
  const { masterKeyFile } = options;
  if ((await readMasterKeyFile(masterKeyFile)) === undefined)
    throw new Error(
      `there is no master key file ${masterKeyFile}; set VOUCH_MASTER_KEY_FILE, or start the service once`,
    );
  const lockPath = `${masterKeyFile}.lock`;
  const lock = await takeLock(lockPath);
  if (!('release' in lock)) throw new Error(lockedMessage(lock, lockPath));
  try {
    await finishSuperseding(masterKeyFile);
    await deleteLeftovers(dirname(masterKeyFile));
    return await rotate(options);
  } finally {
    await lock.release();
  }
}

async function rotate(options: RotationOptions): Promise<Rotation> {
  const { fresh, old } = await bothKeys(options);
  const named = { oldId: old.id, newId: fresh.id };
  if (options.prepareOnly) return { outcome: 'prepared', ...named, rewrapped: 0 };
  const { vault, masterKeyFile, entropy } = options;
  const keys = await DataKeys.open({ vault, masterKeyFile, entropy, logger: silentLogger });
  try {
    await moveMark(vault, keys, { fresh, old });
    const rewrapped = await rewrapAll(options, keys, { fresh, old });
    await replaceMasterKeyFile(masterKeyFile, [fresh]);
    for await (const { project, keyId, entry } of vault.list(() => undefined))
      if (entry.wrapped === null) await vault.writeOff(project, keyId);
    return { outcome: 'rotated', ...named, rewrapped };
  } finally {
    keys.close();
    for (const { bytes } of [fresh, old]) bytes.fill(0);
  }
}

/** The two keys of the file, one of which is in force. Makes the new one at the begin of a rotation. */
async function bothKeys({ vault, masterKeyFile, entropy }: RotationOptions): Promise<MasterPair> {
  const keys = (await readMasterKeyFile(masterKeyFile)) ?? [];
  const masterEntry = await vault.get(MASTER_ENTRY.project, MASTER_ENTRY.keyId);
  const inForce = masterEntry && masterOf(masterEntry);
  if (inForce === undefined) throw new Error('nothing is under the master key yet; start the service once');
  if (!keys.some(({ id }) => id === inForce))
    throw new Error(
      `${masterKeyFile} does not hold master key ${inForce}, which the vault needs; copy it from another machine`,
    );
  const [first, second] = keys;
  if (first !== undefined && second !== undefined) return { fresh: first, old: second };
  const fresh = masterKeyOf(entropy(MASTER_KEY_BYTES));
  await replaceMasterKeyFile(masterKeyFile, [fresh, first!]);
  return { fresh, old: first! };
}

async function moveMark(vault: VaultStore, keys: DataKeys, { fresh, old }: MasterPair): Promise<void> {
  for (;;) {
    const masterEntry = (await vault.get(MASTER_ENTRY.project, MASTER_ENTRY.keyId))!;
    const inForce = masterOf(masterEntry);
    if (inForce === fresh.id) return;
    if (inForce !== old.id)
      throw new Error(
        `another rotation has put master key ${inForce} in force; copy the master key file of the machine that ran it`,
      );
    await keys.rewrap(masterEntry, fresh.id);
  }
}

/** Rewraps data keys until a scan of the vault finds none under the old key. */
async function rewrapAll(options: RotationOptions, keys: DataKeys, { fresh, old }: MasterPair): Promise<number> {
  let rewrapped = 0;
  for (;;) {
    const { under, damaged } = await scanVault(options.vault, old.id);
    if (damaged.length > 0 && !options.forgetDamaged && under.length === 0)
      throw new Error(refusalOf(damaged, options));
    if (under.length === 0) return rewrapped;
    let done = 0;
    await mapConcurrent(under, AT_ONCE, async (stored) => {
      // An entry that was changed meanwhile is left to the next scan.
      if (await keys.rewrap(stored, fresh.id)) rewrapped++;
      options.onProgress(++done, under.length);
    });
  }
}

async function scanVault(vault: VaultStore, masterId: string) {
  const under: StoredVaultEntry[] = [];
  const damaged: string[] = [];
  for await (const stored of vault.list((_, keyId) => damaged.push(keyId)))
    if (!isMasterEntry(stored) && masterOf(stored) === masterId) under.push(stored);
  return { under, damaged };
}

const refusalOf = (damaged: readonly string[], { masterKeyFile }: RotationOptions): string =>
  `damaged entries in the vault: ${damaged.length}, such as that of key ${damaged[0]}; all others are under the new key, ` +
  `and the old one stays in ${masterKeyFile} for these: repair them, or abandon them with --forget-damaged`;

const lockedMessage = ({ host, pid }: LockHolder, path: string): string =>
  `process ${pid} of host ${host} is rotating this master key already; if that is gone, delete ${path}`;
