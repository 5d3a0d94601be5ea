/**
 * Where generations are kept: `<folder>/<collection id>/g<number>/`, see `generationFiles.ts`. What is there can always
 * be built anew from the log, so that anything doubtful is put out of the way rather than repaired.
 *
 *   cut short ──(at open)──► removed
 *   complete ──► superseded, dropped, another shard's ──► removed
 *      └──► does not verify ──► damaged-g<number>, kept until the collection goes
 */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, deleteEmptyDirectory, deleteFile, deleteTree, makeDirectory, move } from '../../../shared/durable.js';
import { messageOf } from '../../../shared/errors.js';
import type { IndexKind } from '../../../shared/indexSpec.js';
import type { Logger } from '../../../shared/logger.js';
import { severalAtOnce } from '../../../shared/severalAtOnce.js';
import { DamagedGeneration, UnknownGeneration } from './damagedGeneration.js';
import { manifestPath, readRows, readSaved, type SavedGeneration } from './generationFiles.js';
import type { SavedRows } from './rowsFile.js';

export type { SavedGeneration, SavedRows };

const COLLECTION = /^[1-9]\d{0,15}$/;
const GENERATION = /^g([1-9]\d{0,15})$/;
const DAMAGED = /^damaged-g([1-9]\d{0,15})$/;

/** Folders looked into at a time: enough to keep a disk busy. */
const LOOKING_MAX = 16;

type OnDamage = (damage: { readonly collectionId: number; readonly reason: string }) => void;

export class GenerationStore {
  /** Of each collection, the highest number there is or was. */
  readonly #numbers = new Map<number, number>();
  readonly #kinds = new Map<number, IndexKind>();

  private constructor(
    private readonly folder: string,
    private readonly logger: Logger,
    private readonly onDamage: OnDamage,
  ) {}

  /**
   * Makes the folder where it is missing, and removes what builds that were cut short have left. Reads a directory and a
   * manifest or two of each collection that has an index: about 0.15 ms for each.
   */
  static async open(folder: string, logger: Logger, onDamage: OnDamage = () => undefined): Promise<GenerationStore> {
    await makeDirectory(folder);
    const store = new GenerationStore(folder, logger, onDamage);
    await severalAtOnce(await store.#collections(), LOOKING_MAX, (id) => store.#learn(id));
    return store;
  }

  /** The newest complete generation whose manifest verifies; its files are not read. Damaged ones are set aside. */
  async latest(collectionId: number): Promise<SavedGeneration | undefined> {
    for (const number of matching(await this.#entries(collectionId), GENERATION).sort(descending)) {
      const saved = await this.#read(collectionId, number);
      if (saved === undefined) continue;
      this.#kinds.set(collectionId, saved.facts.kind);
      return saved;
    }
    this.#kinds.delete(collectionId);
    return undefined;
  }

  /** The kind of what `latest` gives, from memory: a generation that was built since counts once `keepOnly` is called. */
  kindOf(collectionId: number): IndexKind | undefined {
    return this.#kinds.get(collectionId);
  }

  /** Above every number there is or was. Each call gives another. */
  nextNumber(collectionId: number): number {
    const number = (this.#numbers.get(collectionId) ?? 0) + 1;
    this.#numbers.set(collectionId, number);
    return number;
  }

  folderOf(collectionId: number, number: number): string {
    return join(this.#folderOf(collectionId), `g${number}`);
  }

  /** Checked against the manifest. Throws DamagedGeneration. */
  readRows(saved: SavedGeneration): Promise<SavedRows> {
    return readRows(saved);
  }

  /** Keeps a generation that does not verify out of the way, for whoever wants to look into it. */
  async setAside({ facts: { collectionId, number } }: SavedGeneration, reason: string): Promise<void> {
    await this.#moveAside(collectionId, number, reason);
    await this.latest(collectionId);
  }

  /** Removes the generations before `number`, which serves now. */
  async keepOnly(collectionId: number, number: number): Promise<void> {
    for (const older of matching(await this.#entries(collectionId), GENERATION))
      if (older < number) await this.#remove(this.folderOf(collectionId, older));
    await this.latest(collectionId);
  }

  /** The collection has no index any more, or is not here any more. No build of it may be under way. */
  async removeAll(collectionId: number): Promise<void> {
    this.#kinds.delete(collectionId);
    for (const number of matching(await this.#entries(collectionId), GENERATION))
      await this.#remove(this.folderOf(collectionId, number));
    await deleteTree(this.#folderOf(collectionId));
  }

  /** Removes what is kept of collections that are not this shard's. */
  async sweep(isOurs: (collectionId: number) => boolean): Promise<void> {
    for (const collectionId of await this.#collections()) {
      if (isOurs(collectionId)) continue;
      this.logger.info({ collection: collectionId }, 'removing the saved index of a collection that is not here');
      await this.removeAll(collectionId);
    }
  }

  /** Of a collection as it was left by the last process. */
  async #learn(collectionId: number): Promise<void> {
    const entries = await this.#entries(collectionId);
    const numbers = matching(entries, GENERATION);
    this.#numbers.set(collectionId, Math.max(0, ...numbers, ...matching(entries, DAMAGED)));
    for (const number of numbers) await this.#removeCutShort(collectionId, number);
    const saved = await this.latest(collectionId);
    if (saved === undefined) await deleteEmptyDirectory(this.#folderOf(collectionId));
  }

  async #removeCutShort(collectionId: number, number: number): Promise<void> {
    const folder = this.folderOf(collectionId, number);
    const files = await namesIn(folder);
    if (files.some((file) => join(folder, file) === manifestPath(folder))) return;
    this.logger.info({ collection: collectionId, generation: number }, 'removing what an unfinished build left');
    await deleteTree(folder);
  }

  /** Undefined where there is nothing that can be opened. */
  async #read(collectionId: number, number: number): Promise<SavedGeneration | undefined> {
    try {
      const saved = await readSaved(this.folderOf(collectionId, number));
      const { facts } = saved;
      if (facts.collectionId === collectionId && facts.number === number) return saved;
      throw new DamagedGeneration(`it is generation ${facts.number} of collection ${facts.collectionId}`);
    } catch (error) {
      // Still being built, or just removed.
      if (codeOf(error) === 'ENOENT') return undefined;
      if (error instanceof DamagedGeneration) await this.#moveAside(collectionId, number, error.message);
      else if (error instanceof UnknownGeneration) this.#pass(collectionId, number, error);
      else throw error;
      return undefined;
    }
  }

  #pass(collectionId: number, number: number, error: unknown): void {
    const fields = { collection: collectionId, generation: number, reason: messageOf(error) };
    this.logger.warn(fields, 'a saved index was written by another version of this program and is not used');
  }

  async #moveAside(collectionId: number, number: number, reason: string): Promise<void> {
    const folder = this.folderOf(collectionId, number);
    const aside = join(dirname(folder), `damaged-g${number}`);
    await move(folder, aside);
    this.onDamage({ collectionId, reason });
    this.logger.warn({ collection: collectionId, generation: number, reason, aside }, 'a saved index is damaged');
  }

  /** The manifest goes first, so that nobody takes what is left for a whole. */
  async #remove(folder: string): Promise<void> {
    await deleteFile(manifestPath(folder));
    await deleteTree(folder);
  }

  async #collections(): Promise<number[]> {
    return (await namesIn(this.folder)).filter((name) => COLLECTION.test(name)).map(Number);
  }

  #entries(collectionId: number): Promise<string[]> {
    return namesIn(this.#folderOf(collectionId));
  }

  #folderOf(collectionId: number): string {
    return join(this.folder, String(collectionId));
  }
}

const descending = (a: number, b: number): number => b - a;

const matching = (names: readonly string[], pattern: RegExp): number[] =>
  names.flatMap((name) => pattern.exec(name)?.[1] ?? []).map(Number);

/** Nothing where there is no such folder. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}
