/**
 * The vault of a node that stands alone: a file a key, readable by its owner alone.
 *
 *   lock                          who is replacing an entry; absent most of the time
 *   <hex project>/<key id>        an entry, see `entryCodec.ts`
 *
 * The service and a tool beside it may use the same folder: creating is atomic by itself, and replacing takes the lock.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock.js';
import {
  codeOf,
  createFile,
  eraseLeftovers,
  finishSuperseding,
  isSuperseding,
  makeDirectory,
  PRIVATE_FOLDER_MODE,
  PRIVATE_MODE,
  supersedeFile,
} from '../durable.js';
import { unavailable, VouchError } from '../errors.js';
import { Malformed } from '../malformed.js';
import { decodeVaultEntry, encodeVaultEntry } from './entryCodec.js';
import { checkKeyId, isKeyId, orDamaged, projectOfHex, projectToHex, vaultDamaged } from './entryName.js';
import { LockedElsewhere, VaultLock } from './vaultLock.js';
import { forget, type StoredVaultEntry, type VaultEntry, type VaultStore } from './vaultStore.js';

const LOCK_FILE = 'lock';
const FIRST_REVISION = 1;

export interface DirectoryVaultOptions {
  readonly folder: string;
  readonly clock?: Clock;
}

export class DirectoryVault implements VaultStore {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #lock: VaultLock;
  readonly #underWay = new Set<Promise<unknown>>();
  #closed = false;

  private constructor({ folder, clock = systemClock }: DirectoryVaultOptions) {
    this.#folder = folder;
    this.#clock = clock;
    this.#lock = new VaultLock(join(folder, LOCK_FILE), clock);
  }

  /**
   * Finishes what a crash has left undone. Throws VouchError `unavailable` where the folder cannot be written, and an Error of
   * one line where a process of another machine has locked it.
   */
  static async open(options: DirectoryVaultOptions): Promise<DirectoryVault> {
    const vault = new DirectoryVault(options);
    const finishing = vault.#use(async () => {
      await makeDirectory(options.folder, PRIVATE_FOLDER_MODE);
      await vault.#lock.run('', async () => {
        await eraseLeftovers(options.folder);
        for (const project of await vault.#projects()) await eraseLeftovers(join(options.folder, project));
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
      const found = await readEntry(path, project, keyId).catch(orDamaged);
      if (found !== 'damaged' && !(await isSuperseding(path))) return found;
      if (found !== 'damaged') forget(found);
      // Either another process is replacing it, and what was read was being erased, or one has given up halfway: what is
      // answered after this has nothing of an old entry left beside it.
      return this.#lock.run(path, async () => {
        await finishSuperseding(path);
        return readEntry(path, project, keyId);
      });
    });
  }

  create(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    return this.#use(async () => {
      await makeDirectory(join(this.#folder, projectToHex(project)), PRIVATE_FOLDER_MODE);
      const bytes = encodeVaultEntry({ project, keyId, entry, revision: FIRST_REVISION });
      try {
        const created = await createFile(this.#pathOf(project, keyId), bytes, PRIVATE_MODE);
        return created ? FIRST_REVISION : undefined;
      } finally {
        bytes.fill(0);
      }
    });
  }

  replace({ project, keyId, revision }: StoredVaultEntry, entry: VaultEntry): Promise<number | undefined> {
    return this.#use(() => {
      const path = this.#pathOf(project, keyId);
      return this.#lock.run(path, async () => {
        const found = await readEntry(path, project, keyId);
        forget(found);
        if (found?.revision !== revision) return undefined;
        const next = revision + 1;
        const bytes = encodeVaultEntry({ project, keyId, entry, revision: next });
        try {
          await supersedeFile(path, bytes, PRIVATE_MODE);
        } finally {
          bytes.fill(0);
        }
        return next;
      });
    });
  }

  replaceDamaged(project: string, keyId: string, entry: VaultEntry): Promise<number | undefined> {
    return this.#use(() => {
      const path = this.#pathOf(project, keyId);
      return this.#lock.run(path, async () => {
        if ((await readEntry(path, project, keyId).catch(orDamaged)) !== 'damaged') return undefined;
        // Which revision it had is not known any more; revisions are counted, so none has come near this one.
        const revision = this.#clock.nowMs();
        await supersedeFile(path, encodeVaultEntry({ project, keyId, entry, revision }), PRIVATE_MODE);
        return revision;
      });
    });
  }

  /** All of it is here: what `get` gives has nothing of an old entry left beside it. */
  async settle(project: string, keyId: string): Promise<void> {
    forget(await this.get(project, keyId));
  }

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
    const told = (project: string, keyId: string): void => {
      damaged++;
      onDamage(project, keyId);
    };
    for await (const stored of this.list(told)) {
      forget(stored);
      await rest(1 + damaged);
      damaged = 0;
    }
  }

  /** Resolves when every call under way is finished. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
  }

  #pathOf(project: string, keyId: string): string {
    return join(this.#folder, projectToHex(project), checkKeyId(keyId));
  }

  async #projects(): Promise<readonly string[]> {
    return (await readdir(this.#folder)).filter((name) => projectOfHex(name) !== undefined);
  }

  /** The system's errors become `unavailable`; what is under way is known to `close`. */
  async #use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw unavailable('the vault is closed');
    const working = work();
    this.#underWay.add(working);
    try {
      return await working;
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined || error instanceof VouchError) throw error;
      throw unavailable(`the vault cannot be read or written (${code})`, error);
    } finally {
      this.#underWay.delete(working);
    }
  }
}

async function readEntry(path: string, project: string, keyId: string): Promise<StoredVaultEntry | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return decodeVaultEntry(bytes, project, keyId);
  } catch (error) {
    if (error instanceof Malformed) throw vaultDamaged(keyId, error);
    throw error;
  } finally {
    bytes.fill(0);
  }
}
