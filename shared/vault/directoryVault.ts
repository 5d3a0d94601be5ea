/**
 * The vault of a standalone node. It has a file for each key, readable only by its owner.
 *
 * ```text
 * lock                          the process that is replacing an entry; absent most of the time
 * <hex project>/<key id>        an entry, see `entryCodec.ts`
 * ```
 *
 * The service and a tool may use one folder at once. Creating is atomic, and replacing takes the lock.
 */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '../clock.js';
import { unavailable } from '../errors/errors.js';
import { Malformed } from '../errors/malformed.js';
import { asUnavailable } from '../files/asUnavailable.js';
import {
  createFile,
  eraseLeftovers,
  finishSuperseding,
  ifThere,
  isSuperseding,
  makeDirectory,
  supersedeFile,
  syncDirectory,
} from '../files/durable.js';
import { decodeVaultEntry, encodeVaultEntry } from './entryCodec.js';
import { checkKeyId, isKeyId, orDamaged, projectOfHex, projectToHex, vaultDamaged } from './entryName.js';
import { LockedElsewhere, VaultLock } from './vaultLock.js';
import { forget, type StoredVaultEntry, type VaultEntry, type VaultStore } from './vaultStore.js';

const LOCK_FILE = 'lock';
const FIRST_REVISION = 1;

interface DirectoryVaultOptions {
  readonly folder: string;
  readonly clock?: Clock;
}

export class DirectoryVault implements VaultStore {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #lock: VaultLock;
  readonly #calls = new Set<Promise<unknown>>();
  /** Folders in which a write has failed: its visible effect may not be durable. */
  readonly #doubtful = new Map<string, object>();
  #closed = false;

  private constructor({ folder, clock = systemClock }: DirectoryVaultOptions) {
    this.#folder = folder;
    this.#clock = clock;
    this.#lock = new VaultLock(join(folder, LOCK_FILE), clock);
  }

  /**
   * Finishes replacements that a crash has interrupted. Throws VouchError `unavailable` if the folder cannot be written, and an
   * Error of one line if a process of another machine has locked it.
   */
  static async open(options: DirectoryVaultOptions): Promise<DirectoryVault> {
    const vault = new DirectoryVault(options);
    const finishing = vault.#use(async () => {
      await makeDirectory(options.folder);
      await vault.#lock.run('', async () => {
        await eraseLeftovers(options.folder);
        for (const project of await vault.#projects()) {
          const folder = join(options.folder, project);
          await eraseLeftovers(folder);
          // An earlier process may have ended before its last change was durable.
          await syncDirectory(folder);
        }
      });
    });
    await finishing.catch((error: unknown) => {
      throw error instanceof LockedElsewhere ? new Error(error.advice) : error;
    });
    return vault;
  }

  get(project: string, keyId: string): Promise<StoredVaultEntry | undefined> {
    return this.#use(async () => {
      const path = this.#pathOf(project, keyId);
      await this.#settleFolder(dirname(path));
      const found = await readEntry(path, project, keyId).catch(orDamaged);
      if (found !== 'damaged' && !(await isSuperseding(path))) return found;
      if (found !== 'damaged') forget(found);
      // Another process is replacing the entry or has failed halfway, and the read content was being erased. Completing the
      // replacement leaves no part of an old entry.
      return this.#lock.run(path, async () => {
        await finishSuperseding(path);
        return readEntry(path, project, keyId);
      });
    });
  }

  create(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    return this.#use(async () => {
      await makeDirectory(join(this.#folder, projectToHex(project)));
      const path = this.#pathOf(project, keyId);
      const stored = { project, keyId, entry, revision: FIRST_REVISION };
      const creating = withEncoded(stored, (bytes) => createFile(path, bytes));
      return (await this.#orDoubtful(path, creating)) ? FIRST_REVISION : undefined;
    });
  }

  replace({ project, keyId, revision }: StoredVaultEntry, entry: VaultEntry): Promise<number | undefined> {
    return this.#locked(project, keyId, async (path) => {
      const found = await readEntry(path, project, keyId);
      forget(found);
      return found?.revision === revision
        ? supersede(path, { project, keyId, entry, revision: revision + 1 })
        : undefined;
    });
  }

  replaceDamaged(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    return this.#locked(project, keyId, async (path) => {
      if ((await readEntry(path, project, keyId).catch(orDamaged)) !== 'damaged') return undefined;
      // The old revision is unknown. Revisions are counted from 1, so all are far below this one.
      return supersede(path, { project, keyId, entry, revision: this.#clock.nowMs() });
    });
  }

  /** Needs only a `get`, which leaves no part of an old entry on this machine. */
  async settle(project: string, keyId: string): Promise<void> {
    forget(await this.get(project, keyId));
  }

  /** Records nothing: a replaced file is overwritten before it is released. */
  async writeOff(_project: string, _keyId: string): Promise<void> {}

  async *list(onDamage: (project: string, keyId: string) => void): AsyncGenerator<StoredVaultEntry, void, undefined> {
    for (const folder of await this.#use(() => this.#projects())) {
      const project = projectOfHex(folder)!;
      const keyIds = (await this.#use(() => readdir(join(this.#folder, folder)))).filter(isKeyId);
      for (const keyId of keyIds) {
        const found = await this.get(project, keyId).catch(orDamaged);
        if (found === 'damaged') onDamage(project, keyId);
        else if (found !== undefined) yield found;
      }
    }
  }

  async inspect(onDamage: Parameters<VaultStore['list']>[0], rest: (entries: number) => Promise<void>): Promise<void> {
    let damaged = 0;
    const report = (project: string, keyId: string): void => {
      damaged++;
      onDamage(project, keyId);
    };
    for await (const stored of this.list(report)) {
      forget(stored);
      await rest(1 + damaged);
      damaged = 0;
    }
  }

  /** Resolves when every call in flight has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#calls);
  }

  #locked<T>(project: string, keyId: string, work: (path: string) => Promise<T>): Promise<T> {
    return this.#use(() => {
      const path = this.#pathOf(project, keyId);
      return this.#lock.run(path, () => this.#orDoubtful(path, work(path)));
    });
  }

  async #orDoubtful<T>(path: string, writing: Promise<T>): Promise<T> {
    try {
      return await writing;
    } catch (error) {
      this.#doubtful.set(dirname(path), {});
      throw error;
    }
  }

  async #settleFolder(folder: string): Promise<void> {
    const doubt = this.#doubtful.get(folder);
    if (doubt === undefined) return;
    await syncDirectory(folder);
    // Another write may have failed meanwhile.
    if (this.#doubtful.get(folder) === doubt) this.#doubtful.delete(folder);
  }

  #pathOf(project: string, keyId: string): string {
    return join(this.#folder, projectToHex(project), checkKeyId(keyId));
  }

  async #projects(): Promise<readonly string[]> {
    return (await readdir(this.#folder)).filter((name) => projectOfHex(name) !== undefined);
  }

  /** Runs a call that `close` waits for. The system's errors become `unavailable`. */
  async #use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw unavailable('the vault is closed');
    const working = work();
    this.#calls.add(working);
    try {
      return await working;
    } catch (error) {
      throw asUnavailable(error, 'the vault cannot be read or written');
    } finally {
      this.#calls.delete(working);
    }
  }
}

async function supersede(path: string, stored: StoredVaultEntry): Promise<number> {
  await withEncoded(stored, (bytes) => supersedeFile(path, bytes));
  return stored.revision;
}

/** Encodes the entry for `write`, and then overwrites the bytes. */
async function withEncoded<T>(stored: StoredVaultEntry, write: (bytes: Uint8Array) => Promise<T>): Promise<T> {
  const bytes = encodeVaultEntry(stored);
  try {
    return await write(bytes);
  } finally {
    bytes.fill(0);
  }
}

async function readEntry(path: string, project: string, keyId: string): Promise<StoredVaultEntry | undefined> {
  const bytes = await ifThere(readFile(path));
  if (bytes === undefined) return undefined;
  try {
    return decodeVaultEntry(bytes, project, keyId);
  } catch (error) {
    if (error instanceof Malformed) throw vaultDamaged(keyId, error);
    throw error;
  } finally {
    bytes.fill(0);
  }
}
