/**
 * The saved generations of a shard: `<folder>/<collection id>/g<number>/`; see `generationFiles.ts`. A generation can
 * always be rebuilt from the log, so a doubtful one is set aside and not repaired.
 *
 * ```text
 * Interrupted ──(at open)──► removed.
 * Complete ──► superseded, dropped, another shard's ──► removed.
 *    └──► does not verify ──► damaged-g<number>, kept until the collection is removed.
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
  /** Highest number of a generation that exists or existed, by collection. */
  readonly #numbers = new Map<number, number>();
  readonly #kinds = new Map<number, IndexKind>();

  private constructor(
    private readonly folder: string,
    private readonly logger: Logger,
    private readonly onDamage: OnDamage,
  ) {}

  /**
   * Makes the folder if it is missing, and removes the files of interrupted builds. Per collection with an index it
   * reads a directory and a manifest or two: about 0.15 ms.
   */
  static async open(folder: string, logger: Logger, onDamage: OnDamage = () => undefined): Promise<GenerationStore> {
    await makeDirectory(folder);
    const store = new GenerationStore(folder, logger, onDamage);
    await mapConcurrent(await numbersIn(folder, COLLECTION), CONCURRENT_READS, (id) => store.#openCollection(id));
    return store;
  }

  /**
   * Returns the newest complete generation whose manifest verifies; sets damaged ones aside. Does not read its files.
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

  /** Returns the kind of the `latest` generation, from memory. A new build counts once `keepOnly` is called. */
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

  /** Removes the generations before `number`, which serves now. */
  async keepOnly(collectionId: number, number: number): Promise<void> {
    await this.#removeBefore(collectionId, number);
    await this.latest(collectionId);
  }

  /**
   * Removes all files of a collection that has no index any more, or has left. Its index must not be built at that
   * time.
   */
  async removeAll(collectionId: number): Promise<void> {
    this.#kinds.delete(collectionId);
    await this.#removeBefore(collectionId, Number.POSITIVE_INFINITY);
    await deleteTree(this.#collectionFolder(collectionId));
  }

  /** Removes the generations of collections that this shard does not own. */
  async sweep(isOurs: (collectionId: number) => boolean): Promise<void> {
    for (const collectionId of await numbersIn(this.folder, COLLECTION)) {
      if (isOurs(collectionId)) continue;
      this.logger.info(
        { collection: collectionId },
        'removing the saved index of a collection that this shard does not own',
      );
      await this.removeAll(collectionId);
    }
  }

  /** Reads a collection's folder as the last process left it. */
  async #openCollection(collectionId: number): Promise<void> {
    const folder = this.#collectionFolder(collectionId);
    const numbers = await numbersIn(folder, GENERATION);
    this.#numbers.set(collectionId, Math.max(0, ...numbers, ...(await numbersIn(folder, DAMAGED))));
    for (const number of numbers) await this.#removeCutShort(collectionId, number);
    if ((await this.latest(collectionId)) === undefined) await deleteEmptyDirectory(folder);
  }

  async #removeCutShort(collectionId: number, number: number): Promise<void> {
    const folder = this.folderOf(collectionId, number);
    if ((await namesIn(folder)).some((file) => join(folder, file) === manifestPath(folder))) return;
    this.logger.info({ collection: collectionId, generation: number }, 'removing the files of an unfinished build');
    await deleteTree(folder);
  }

  /** Returns undefined if the generation cannot be opened. */
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
          'a saved index was written by another version of this program and is not used',
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

/** Returns the numbers in the matching names. */
const numbersIn = async (folder: string, pattern: RegExp): Promise<number[]> =>
  (await namesIn(folder)).flatMap((name) => pattern.exec(name)?.[1] ?? []).map(Number);

/** Returns an empty list if the folder does not exist. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}
