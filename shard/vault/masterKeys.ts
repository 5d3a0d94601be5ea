/** The master keys of this process. It reads them from their file, and again when an unknown key is needed. */
import type { Entropy } from '../../shared/clock.js';
import {
  createMasterKeyFile,
  MASTER_KEY_BYTES,
  type MasterKey,
  MasterKeyFileError,
  masterKeyOf,
  readMasterKeyFile,
} from './masterKeyFile.js';

export class MasterKeys {
  /** Keys, newest first. */
  #keys: readonly MasterKey[] = [];

  constructor(
    readonly path: string,
    private readonly entropy: Entropy,
  ) {}

  /** Returns the id of the newest key. Makes the file with a fresh key if it is missing. Throws MasterKeyFileError. */
  async newestOrFirst(): Promise<string> {
    const found = await this.#newestId();
    if (found !== undefined) return found;
    const bytes = this.entropy(MASTER_KEY_BYTES);
    await createMasterKeyFile(this.path, masterKeyOf(bytes));
    bytes.fill(0);
    // Another process may have made it first.
    const made = await this.#newestId();
    if (made === undefined)
      throw new MasterKeyFileError(`the master key file ${this.path} disappeared right after it was made`);
    return made;
  }

  /** Whether this process or the file has the key. Throws MasterKeyFileError. */
  async has(id: string): Promise<boolean> {
    if (this.#find(id) === undefined) await this.#read();
    return this.#find(id) !== undefined;
  }

  /** Whether the file has the key now. Throws MasterKeyFileError. */
  async inFile(id: string): Promise<boolean> {
    const keys = (await readMasterKeyFile(this.path)) ?? [];
    const isThere = keys.some((key) => key.id === id);
    for (const { bytes } of keys) bytes.fill(0);
    return isThere;
  }

  /**
   * Returns the result of `use`, which must not keep the key; undefined if the key is unknown. Throws
   * MasterKeyFileError.
   */
  async use<T>(id: string, use: (key: MasterKey) => T): Promise<T | undefined> {
    if (!(await this.has(id))) return undefined;
    const key = this.#find(id);
    return key && use(key);
  }

  close(): void {
    this.#hold([]);
  }

  /** Reads the file. Returns the id of its newest key; undefined without a file. Throws MasterKeyFileError. */
  async #newestId(): Promise<string | undefined> {
    await this.#read();
    return this.#keys[0]?.id;
  }

  #find(id: string): MasterKey | undefined {
    return this.#keys.find((key) => key.id === id);
  }

  async #read(): Promise<void> {
    this.#hold((await readMasterKeyFile(this.path)) ?? []);
  }

  #hold(keys: readonly MasterKey[]): void {
    for (const { bytes } of this.#keys) bytes.fill(0);
    this.#keys = keys;
  }
}
