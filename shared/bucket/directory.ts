/**
 * A bucket in a folder, with one file for each key. The service has all entries in memory. Another process, such as the key
 * tool, may write to the folder meanwhile. Creating a key is atomic between processes, other writes within one process.
 */
import { basename, join } from 'node:path';
import { type Clock, systemClock } from '../clock.js';
import { messageOf, unavailable } from '../errors/errors.js';
import { asUnavailable } from '../files/asUnavailable.js';
import {
  codeOf,
  createFile,
  deleteFile,
  deleteLeftovers,
  isThere,
  makeDirectory,
  replaceFile,
  syncDirectory,
} from '../files/durable.js';
import type { Logger } from '../logger.js';
import { Mutex } from '../scheduling/mutex.js';
import { PeriodicTask } from '../scheduling/periodicTask.js';
import type { Bucket, BucketValue, Change, Entry, Watch } from './bucket.js';
import { encodeEntry, fileNameOf } from './directoryFile.js';
import { DirectoryView } from './directoryView.js';
import { Revisions } from './revisions.js';
import { storable, Watchers } from './watchers.js';

interface DirectoryBucketOptions {
  readonly folder: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Interval of looks at the folder. A look finds writes by other processes, and the outcome of a failed write. */
  readonly lookMs: number;
}

export class DirectoryBucket implements Bucket {
  readonly #folder: string;
  readonly #logger: Logger;
  readonly #writes = new Mutex();
  readonly #watchers: Watchers;
  readonly #view: DirectoryView;
  readonly #revisions: Revisions;
  readonly #looks: PeriodicTask;
  #isWhole = false;
  /** Key of the running write, or of one that failed: its effect may be unknown, or not durable. */
  #doubtful: string | undefined;
  /** Whether the folder was removed with its entries, and is not back. */
  #isLost = false;
  #closed = false;

  private constructor({ folder, logger, clock = systemClock, lookMs }: DirectoryBucketOptions) {
    this.#folder = folder;
    this.#logger = logger;
    this.#looks = new PeriodicTask(() => this.#look(), lookMs);
    this.#watchers = new Watchers(logger);
    this.#revisions = new Revisions(folder);
    const onDamage = (file: string, reason: string): void => {
      // At the start a bucket must be complete; later it keeps the last intact entry.
      if (!this.#isWhole) throw new Error(`${file} is damaged: ${reason}`);
      logger.error({ file, reason }, 'an entry of a bucket is damaged');
    };
    this.#view = new DirectoryView(folder, clock, (change) => this.#watchers.notify(change), onDamage);
  }

  /** Reads every entry. Throws an Error that names a damaged file. */
  static async open(options: DirectoryBucketOptions): Promise<DirectoryBucket> {
    await makeDirectory(options.folder);
    await deleteLeftovers(options.folder);
    // An earlier process may have ended before its last change was durable.
    await syncDirectory(options.folder);
    const bucket = new DirectoryBucket(options);
    await bucket.#view.lookAll(await bucket.#view.changed());
    bucket.#isWhole = true;
    bucket.#looks.start();
    return bucket;
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#expectOpen();
    const name = fileNameOf(key);
    // Another process may have made it since the last look.
    if (!this.#view.has(name) || this.#doubtful !== undefined) await this.#inTurn(key, async () => undefined);
    return this.#view.entryIn(name);
  }

  create(key: string, value: BucketValue, isWanted = async () => true): Promise<number | undefined> {
    return this.#inTurn(key, async (name) => {
      if (this.#view.has(name) || !(await isWanted())) return undefined;
      const entry = await this.#next(key, value);
      const created = await createFile(join(this.#folder, name), encodeEntry(entry));
      await this.#view.look(name);
      return created ? entry.revision : undefined;
    });
  }

  update(key: string, value: BucketValue, revision: number): Promise<number | undefined> {
    return this.#inTurn(key, async (name) =>
      this.#view.entryIn(name)?.revision === revision ? this.#replace(name, key, value) : undefined,
    );
  }

  put(key: string, value: BucketValue): Promise<number> {
    return this.#inTurn(key, (name) => this.#replace(name, key, value));
  }

  clear(key: string): Promise<Entry | undefined> {
    return this.#inTurn(key, async (name) => {
      const entry = this.#view.entryIn(name);
      await deleteFile(join(this.#folder, name));
      this.#view.forget(name);
      return entry;
    });
  }

  next(key: string, above: number): Promise<number> {
    return this.#inTurn(key, async (name) => {
      const next = Math.max(((this.#view.entryIn(name)?.value ?? 0) as number) + 1, above + 1);
      await this.#replace(name, key, next);
      return next;
    });
  }

  delete(key: string, revision?: number): Promise<boolean> {
    return this.#inTurn(key, async (name) => {
      if (revision !== undefined && this.#view.entryIn(name)?.revision !== revision) return false;
      const deleted = await deleteFile(join(this.#folder, name));
      this.#view.forget(name);
      return deleted;
    });
  }

  async watch(listener: (change: Change) => void): Promise<Watch> {
    this.#expectOpen();
    return this.#watchers.add(this.#view.entries, listener, {
      caughtUp: async () => {
        if (this.#doubtful !== undefined) await this.#inTurn(this.#doubtful, async () => undefined);
      },
      read: (key) => this.get(key),
    });
  }

  /** Resolves when every write has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#looks.stop();
    await this.#writes.idle();
    this.#watchers.clear();
  }

  #expectOpen(): void {
    if (this.#closed) throw unavailable('the bucket is closed');
  }

  async #replace(name: string, key: string, value: BucketValue): Promise<number> {
    const entry = await this.#next(key, value);
    await replaceFile(join(this.#folder, name), encodeEntry(entry));
    await this.#view.learn(name, entry);
    return entry.revision;
  }

  async #next(key: string, value: BucketValue): Promise<Entry> {
    return Object.freeze({ key, value: storable(value), revision: await this.#revisions.after(this.#view.newest) });
  }

  /** Runs `work` after earlier writes, once the key has been read from disk. */
  async #inTurn<T>(key: string, work: (name: string) => Promise<T>): Promise<T> {
    this.#expectOpen();
    const name = fileNameOf(key);
    try {
      const once = async (): Promise<T> => {
        await this.#settle();
        await this.#view.look(name);
        this.#doubtful = key;
        const done = await work(name);
        this.#doubtful = undefined;
        return done;
      };
      return await this.#writes.run(async () => {
        const { size } = this.#view;
        return once().catch(async (error: unknown) => {
          if (!(await this.#isMadeAgain(error, size))) throw error;
          return once();
        });
      });
    } catch (error) {
      throw asUnavailable(error, `${basename(this.#folder)} cannot be written`);
    }
  }

  /** Makes the effect of a failed write durable, and reads it from disk. */
  async #settle(): Promise<void> {
    if (this.#doubtful === undefined) return;
    await syncDirectory(this.#folder);
    await this.#view.look(fileNameOf(this.#doubtful));
    this.#doubtful = undefined;
  }

  /**
   * Makes a removed folder again if it had no entries. Otherwise it stays missing: an empty folder would count as the deletion
   * of all entries.
   */
  async #isMadeAgain(error: unknown, entries: number): Promise<boolean> {
    if (codeOf(error) !== 'ENOENT' || (await isThere(this.#folder))) return false;
    this.#isLost ||= entries > 0;
    if (this.#isLost) return false;
    await makeDirectory(this.#folder);
    this.#logger.warn({ folder: this.#folder }, 'the empty folder of a bucket was removed; it is made again');
    return true;
  }

  async #look(): Promise<void> {
    const { size } = this.#view;
    try {
      const changed = await this.#view.changed();
      this.#isLost = false;
      if (changed.length === 0) return;
      await this.#writes.run(async () => {
        await this.#settle();
        await this.#view.lookAll(changed);
      });
    } catch (error) {
      if (await this.#isMadeAgain(error, size).catch(() => false)) return;
      this.#logger.warn({ folder: this.#folder, error: messageOf(error) }, 'a bucket cannot be read');
    }
  }
}
