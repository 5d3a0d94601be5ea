/**
 * What a process knows of the entries in a folder, and how it learns what another process has changed there. Files are
 * read when they have changed and not otherwise.
 */
import { type BigIntStats, statSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../clock.js';
import { codeOf } from '../durable.js';
import { messageOf } from '../errors.js';
import type { Change, Entry } from './bucket.js';
import { decodeEntry, isEntryFile } from './directoryFile.js';

/** File times advance in steps of some milliseconds: a change this recent may hide another of the same step. */
const SETTLED_MS = 100;
/** Files looked at together. */
const BATCH_FILES = 64;

interface Known {
  /** Undefined where the file was never whole. */
  readonly entry: Entry | undefined;
  /** Tells the contents of a file apart without reading it; undefined where it might not yet. */
  readonly stamp: string | undefined;
}

export interface DirectoryViewOptions {
  readonly folder: string;
  readonly clock: Clock;
  /** Told of every change, whoever made it. */
  readonly onChange: (change: Change) => void;
  /** Told of a file that does not verify; what was known of its entry before stays. */
  readonly onDamage: (file: string, reason: string) => void;
}

export class DirectoryView {
  readonly #options: DirectoryViewOptions;
  /** By file name. */
  readonly #known = new Map<string, Known>();
  #newest = 0;
  /** The folder's time when all was known to be as it is here; undefined where that time may hide a change. */
  #settled: bigint | undefined;

  constructor(options: DirectoryViewOptions) {
    this.#options = options;
  }

  get entries(): Entry[] {
    return [...this.#known.values()].flatMap(({ entry }) => entry ?? []);
  }

  /** The highest revision there ever was here. */
  get newest(): number {
    return this.#newest;
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  entryIn(name: string): Entry | undefined {
    return this.#known.get(name)?.entry;
  }

  /** Brings what is known of one file up to date. */
  async look(name: string): Promise<void> {
    const stats = await statOf(this.#pathOf(name));
    if (stats === undefined) this.forget(name);
    else if (stampOf(stats) !== this.#known.get(name)?.stamp) await this.#read(name, this.#settledStamp(stats));
  }

  /** Takes in what this process has just written. */
  async learn(name: string, entry: Entry): Promise<void> {
    const stats = await statOf(this.#pathOf(name));
    this.#learn(name, { entry, stamp: stats && this.#settledStamp(stats) });
  }

  forget(name: string): void {
    const entry = this.entryIn(name);
    this.#known.delete(name);
    if (entry !== undefined) this.#options.onChange({ key: entry.key, entry: undefined });
  }

  /**
   * The files that are not as they are known here. Costs one `stat` where nothing in the folder was created, replaced or
   * deleted, else one a file; yields in between.
   */
  async changed(): Promise<string[]> {
    const { folder } = this.#options;
    const { mtimeNs, mtimeMs } = await stat(folder, { bigint: true });
    if (mtimeNs === this.#settled) return [];
    const names = (await readdir(folder)).filter(isEntryFile);
    const present = new Set(names);
    const changed = [...this.#known.keys()].filter((name) => !present.has(name));
    for (const [i, name] of names.entries()) {
      // In the call: a trip through the thread pool costs ten times as much.
      const stats = statSync(this.#pathOf(name), { bigint: true, throwIfNoEntry: false });
      if (stats === undefined || stampOf(stats) !== this.#known.get(name)?.stamp) changed.push(name);
      if (i % BATCH_FILES === BATCH_FILES - 1) await nextTurn();
    }
    this.#settled = changed.length === 0 && this.#isSettled(mtimeMs) ? mtimeNs : undefined;
    return changed;
  }

  async lookAll(names: readonly string[]): Promise<void> {
    for (let i = 0; i < names.length; i += BATCH_FILES)
      await Promise.all(names.slice(i, i + BATCH_FILES).map((name) => this.look(name)));
  }

  #isSettled(mtimeMs: bigint): boolean {
    return Math.abs(this.#options.clock.nowMs() - Number(mtimeMs)) > SETTLED_MS;
  }

  /** A file that is replaced twice within a step of the clock may get its inode back. */
  #settledStamp(stats: BigIntStats): string | undefined {
    return this.#isSettled(stats.mtimeMs) ? stampOf(stats) : undefined;
  }

  #pathOf(name: string): string {
    return join(this.#options.folder, name);
  }

  async #read(name: string, stamp: string | undefined): Promise<void> {
    let content: string;
    try {
      content = await readFile(this.#pathOf(name), 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return this.forget(name);
      throw error;
    }
    let entry: Entry;
    try {
      entry = decodeEntry(name, content);
    } catch (error) {
      this.#known.set(name, { entry: this.entryIn(name), stamp });
      return this.#options.onDamage(this.#pathOf(name), messageOf(error));
    }
    this.#learn(name, { entry, stamp });
  }

  #learn(name: string, known: Known & { readonly entry: Entry }): void {
    const { entry } = known;
    const isNew = this.entryIn(name)?.revision !== entry.revision;
    this.#known.set(name, known);
    this.#newest = Math.max(this.#newest, entry.revision);
    if (isNew) this.#options.onChange({ key: entry.key, entry });
  }
}

async function statOf(path: string): Promise<BigIntStats | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

const stampOf = ({ ino, size, mtimeNs }: BigIntStats): string => `${ino} ${size} ${mtimeNs}`;
