/**
 * The saved generations of a shard, in folders `<folder>/<collection id>/g<number>/`; see `generationFiles.ts`. An index
 * can always be rebuilt from the log, so a damaged generation is set aside and not repaired.
 *
 * ```text
 * incomplete ──the store opens──▶ removed
 * complete ──superseded, dropped, or not owned──▶ removed
 *    └──does not verify──▶ damaged-g<number>, kept until the collection is removed
 * ```
 */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  codeOf,
  deleteEmptyDirectory,
  deleteFile,
  deleteTree,
  makeDirectory,
  move,
} from '../../../shared/files/durable.js';
import type { Logger } from '../../../shared/logger.js';
import type { IndexKind } from '../../../shared/model/indexSpec.js';
import { mapConcurrent } from '../../../shared/scheduling/mapConcurrent.js';
import { manifestPath, readSaved, type SavedGeneration } from './generationFiles.js';
import { DamagedGeneration, UnknownGeneration } from './manifest.js';

const COLLECTION = /^([1-9]\d{0,15})$/;
const GENERATION = /^g([1-9]\d{0,15})$/;
const DAMAGED = /^damaged-g([1-9]\d{0,15})$/;

/** Folders read at a time: enough to keep a disk busy. */
const CONCURRENT_READS = 16;

type OnDamage = (damage: { readonly collectionId: number; readonly reason: string }) => void;

export class GenerationStore {
  /** Highest number that a generation has, had or was promised, by collection. */
  readonly #numbers = new Map<number, number>();
  /** Kind of the latest generation, by collection. */
  readonly #kinds = new Map<number, IndexKind>();

  private constructor(
    private readonly folder: string,
    private readonly logger: Logger,
    private readonly onDamage: OnDamage,
  ) {}

  /**
   * Makes the folder if it is missing, and removes the files of interrupted builds. Takes about 0.15 ms per collection
   * with an index, to read a directory and a manifest or two.
   */
  static async open(folder: string, logger: Logger, onDamage: OnDamage = () => undefined): Promise<GenerationStore> {
    await makeDirectory(folder);
    const store = new GenerationStore(folder, logger, onDamage);
    await mapConcurrent(await numbersIn(folder, COLLECTION), CONCURRENT_READS, (id) => store.#openCollection(id));
    return store;
  }

  /**
   * Returns the newest complete generation with a manifest that verifies, and sets aside those with a damaged one. Does
   * not read payload and rows.
   */
  async latest(collectionId: number): Promise<SavedGeneration | undefined> {
    const numbers = await numbersIn(this.#collectionFolder(collectionId), GENERATION);
    for (const number of numbers.sort((a, b) => b - a)) {
      const saved = await this.#read(collectionId, number);
      if (saved === undefined) continue;
      this.#kinds.set(collectionId, saved.facts.kind);
      return saved;
    }
    this.#kinds.delete(collectionId);
    return undefined;
  }

  /** Returns the kind of the latest generation, as of the last `latest` or `keepOnly`. */
  kindOf(collectionId: number): IndexKind | undefined {
    return this.#kinds.get(collectionId);
  }

  /** Returns a number above every number that exists, existed or was returned. */
  nextNumber(collectionId: number): number {
    const number = (this.#numbers.get(collectionId) ?? 0) + 1;
    this.#numbers.set(collectionId, number);
    return number;
  }

  folderOf(collectionId: number, number: number): string {
    return join(this.#collectionFolder(collectionId), `g${number}`);
  }

  /** Renames a generation that does not verify, so that an operator can inspect it. */
  async setAside({ facts: { collectionId, number } }: SavedGeneration, reason: string): Promise<void> {
    await this.#moveAside(collectionId, number, reason);
    await this.latest(collectionId);
  }

  /** Removes the generations with numbers below `number`, whose generation serves now. */
  async keepOnly(collectionId: number, number: number): Promise<void> {
    await this.#removeBefore(collectionId, number);
    await this.latest(collectionId);
  }

  /** Removes all files of a collection, damaged generations included. No build of its index may run meanwhile. */
  async removeAll(collectionId: number): Promise<void> {
    this.#kinds.delete(collectionId);
    await this.#removeBefore(collectionId, Number.POSITIVE_INFINITY);
    await deleteTree(this.#collectionFolder(collectionId));
  }

  /** Removes the generations of collections that this shard does not own. */
  async sweep(isOwned: (collectionId: number) => boolean): Promise<void> {
    for (const collectionId of await numbersIn(this.folder, COLLECTION)) {
      if (isOwned(collectionId)) continue;
      this.logger.info(
        { collection: collectionId },
        'removing the saved index of a collection that this shard does not own',
      );
      await this.removeAll(collectionId);
    }
  }

  /** Reads a collection's folder at the start: notes numbers and kind, and removes incomplete generations. */
  async #openCollection(collectionId: number): Promise<void> {
    const folder = this.#collectionFolder(collectionId);
    const numbers = await numbersIn(folder, GENERATION);
    this.#numbers.set(collectionId, Math.max(0, ...numbers, ...(await numbersIn(folder, DAMAGED))));
    for (const number of numbers) await this.#removeIncomplete(collectionId, number);
    if ((await this.latest(collectionId)) === undefined) await deleteEmptyDirectory(folder);
  }

  async #removeIncomplete(collectionId: number, number: number): Promise<void> {
    const folder = this.folderOf(collectionId, number);
    if ((await namesIn(folder)).some((file) => join(folder, file) === manifestPath(folder))) return;
    this.logger.info({ collection: collectionId, generation: number }, 'removing the files of an unfinished build');
    await deleteTree(folder);
  }

  /** Reads a manifest. Returns undefined if this program cannot use it; a damaged one is set aside. */
  async #read(collectionId: number, number: number): Promise<SavedGeneration | undefined> {
    try {
      const saved = await readSaved(this.folderOf(collectionId, number));
      const { facts } = saved;
      if (facts.collectionId === collectionId && facts.number === number) return saved;
      throw new DamagedGeneration(`it is generation ${facts.number} of collection ${facts.collectionId}`);
    } catch (error) {
      if (error instanceof DamagedGeneration) await this.#moveAside(collectionId, number, error.message);
      else if (error instanceof UnknownGeneration)
        this.logger.warn(
          { collection: collectionId, generation: number, reason: error.message },
          'a saved index has a version or a kind that this program does not know, and is not used',
        );
      // The generation is still being built, or was just removed.
      else if (codeOf(error) !== 'ENOENT') throw error;
      return undefined;
    }
  }

  async #moveAside(collectionId: number, number: number, reason: string): Promise<void> {
    const folder = this.folderOf(collectionId, number);
    const aside = join(dirname(folder), `damaged-g${number}`);
    await move(folder, aside);
    this.onDamage({ collectionId, reason });
    this.logger.warn({ collection: collectionId, generation: number, reason, aside }, 'a saved index is damaged');
  }

  /** Removes each manifest first, so that a partly removed generation does not look complete. */
  async #removeBefore(collectionId: number, end: number): Promise<void> {
    for (const number of await numbersIn(this.#collectionFolder(collectionId), GENERATION)) {
      if (number >= end) continue;
      const folder = this.folderOf(collectionId, number);
      await deleteFile(manifestPath(folder));
      await deleteTree(folder);
    }
  }

  #collectionFolder(collectionId: number): string {
    return join(this.folder, String(collectionId));
  }
}

/** Returns the numbers in the names of a folder that match `pattern`. */
const numbersIn = async (folder: string, pattern: RegExp): Promise<number[]> =>
  (await namesIn(folder)).flatMap((name) => pattern.exec(name)?.[1] ?? []).map(Number);

/** Returns the names in a folder; none if the folder does not exist. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}
