/** A process's copy of the entries in a folder. It reads only files that another process has changed. */
import { type BigIntStats, statSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../clock.js';
import { messageOf } from '../errors/errors.js';
import { ifThere } from '../files/durable.js';
import type { Change, Entry } from './bucket.js';
import { decodeEntry, isEntryFile } from './directoryFile.js';

/** Age from which a file's time identifies its content: times have steps of some milliseconds, so a recent change may hide another. */
const SETTLED_MS = 100;
/** Number of files checked together. */
const BATCH_FILES = 64;

interface Known {
  /** Undefined if the file was damaged from the first look. */
  readonly entry: Entry | undefined;
  /** Identifies the content of the file; undefined while it may hide a change. */
  readonly stamp: string | undefined;
}

export class DirectoryView {
  /** Entries by file name. */
  readonly #known = new Map<string, Known>();
  #newest = 0;
  /** The folder's time when all entries were known; undefined while that time may hide a change. */
  #settled: bigint | undefined;

  constructor(
    private readonly folder: string,
    private readonly clock: Clock,
    /** Called for every change, by any process. */
    private readonly onChange: (change: Change) => void,
    /** Called for a damaged file, whose last known entry stays. */
    private readonly onDamage: (file: string, reason: string) => void,
  ) {}

  get entries(): Entry[] {
    return [...this.#known.values()].flatMap(({ entry }) => entry ?? []);
  }

  /** The number of entries, damaged ones included. */
  get size(): number {
    return this.#known.size;
  }

  /** The highest known revision. */
  get newest(): number {
    return this.#newest;
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  entryIn(name: string): Entry | undefined {
    return this.#known.get(name)?.entry;
  }

  /** Reads the file if it has changed. */
  async look(name: string): Promise<void> {
    const stats = await ifThere(stat(this.#pathOf(name), { bigint: true }));
    if (stats === undefined) this.forget(name);
    else if (stampOf(stats) !== this.#known.get(name)?.stamp) await this.#read(name, this.#settledStamp(stats));
  }

  /** Adds an entry that this process has just written. */
  async learn(name: string, entry: Entry): Promise<void> {
    const stats = await ifThere(stat(this.#pathOf(name), { bigint: true }));
    this.#learn(name, { entry, stamp: stats && this.#settledStamp(stats) });
  }

  forget(name: string): void {
    const entry = this.entryIn(name);
    this.#known.delete(name);
    if (entry !== undefined) this.onChange({ key: entry.key, entry: undefined, endedUpTo: entry.revision });
  }

  /** Lists the changed files. Costs one `stat` for an unchanged folder, else one for each file; yields. */
  async changed(): Promise<string[]> {
    // Synchronous calls, here and below: the thread pool costs ten times as much.
    const { mtimeNs, mtimeMs } = statSync(this.folder, { bigint: true });
    if (mtimeNs === this.#settled) return [];
    const names = (await readdir(this.folder)).filter(isEntryFile);
    const present = new Set(names);
    const changed = [...this.#known.keys()].filter((name) => !present.has(name));
    for (const [i, name] of names.entries()) {
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
    return Math.abs(this.clock.nowMs() - Number(mtimeMs)) > SETTLED_MS;
  }

  /** The file's stamp; undefined for a recent change: a file that is replaced twice within a step of the clock may get its inode back. */
  #settledStamp(stats: BigIntStats): string | undefined {
    return this.#isSettled(stats.mtimeMs) ? stampOf(stats) : undefined;
  }

  #pathOf(name: string): string {
    return join(this.folder, name);
  }

  async #read(name: string, stamp: string | undefined): Promise<void> {
    const content = await ifThere(readFile(this.#pathOf(name), 'utf8'));
    if (content === undefined) return this.forget(name);
    let entry: Entry;
    try {
      entry = decodeEntry(name, content);
    } catch (error) {
      this.#known.set(name, { entry: this.entryIn(name), stamp });
      return this.onDamage(this.#pathOf(name), messageOf(error));
    }
    this.#learn(name, { entry, stamp });
  }

  #learn(name: string, known: Known & { readonly entry: Entry }): void {
    const { entry } = known;
    const isNew = this.entryIn(name)?.revision !== entry.revision;
    this.#known.set(name, known);
    this.#newest = Math.max(this.#newest, entry.revision);
    if (isNew) this.onChange({ key: entry.key, entry });
  }
}

const stampOf = ({ ino, size, mtimeNs }: BigIntStats): string => `${ino} ${size} ${mtimeNs}`;
