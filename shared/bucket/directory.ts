/**
 * A bucket in a folder, one file a key. The process that serves holds all entries in memory; another one, such as the key
 * tool, may write to the same folder meanwhile, and is noticed. Creating a key is atomic between processes, all else
 * within one.
 */
import { basename, join } from 'node:path';
import { type Clock, systemClock } from '../clock.js';
import {
  codeOf,
  createFile,
  deleteFile,
  deleteLeftovers,
  makeDirectory,
  PRIVATE_MODE,
  replaceFile,
} from '../durable.js';
import { messageOf, unavailable, VouchError } from '../errors.js';
import type { Logger } from '../logger.js';
import { Turns } from '../turns.js';
import type { Bucket, Change, Entry, Json, Watch } from './bucket.js';
import { encodeEntry, fileNameOf } from './directoryFile.js';
import { DirectoryView } from './directoryView.js';
import { Revisions } from './revisions.js';
import { storable, Watchers } from './watchers.js';

/** What another process has written is known after this, and the time its files take to read. */
const POLL_MS = 200;

export interface DirectoryBucketOptions {
  readonly folder: string;
  readonly logger: Logger;
  readonly clock?: Clock;
}

export class DirectoryBucket implements Bucket {
  readonly #folder: string;
  readonly #logger: Logger;
  readonly #turns = new Turns();
  readonly #watchers: Watchers;
  readonly #view: DirectoryView;
  readonly #revisions: Revisions;
  #timer: NodeJS.Timeout | undefined;
  #polling = false;
  #closed = false;

  private constructor({ folder, logger, clock = systemClock }: DirectoryBucketOptions) {
    this.#folder = folder;
    this.#logger = logger;
    this.#watchers = new Watchers(logger);
    this.#revisions = new Revisions(folder);
    this.#view = new DirectoryView({
      folder,
      clock,
      onChange: (change) => this.#watchers.tell(change),
      onDamage: (file, reason) => {
        // Before it serves anything a bucket must be whole; later on what it knew still holds.
        if (this.#timer === undefined) throw new Error(`${file} is damaged: ${reason}`);
        logger.error({ file, reason }, 'an entry of a bucket is damaged');
      },
    });
  }

  /** Reads every entry. Throws an Error that names the file where one is damaged. */
  static async open(options: DirectoryBucketOptions): Promise<DirectoryBucket> {
    await makeDirectory(options.folder);
    await deleteLeftovers(options.folder);
    const bucket = new DirectoryBucket(options);
    await bucket.#view.lookAll(await bucket.#view.changed());
    bucket.#timer = setInterval(() => void bucket.#poll(), POLL_MS).unref();
    return bucket;
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#expectOpen();
    const name = fileNameOf(key);
    // Another process may have made it since the last poll.
    if (!this.#view.has(name)) await this.#inTurn(key, async () => undefined);
    return this.#view.entryIn(name);
  }

  create(key: string, value: Json): Promise<number | undefined> {
    return this.#inTurn(key, async (name) => {
      if (this.#view.has(name)) return undefined;
      const entry = await this.#next(key, value);
      const created = await createFile(join(this.#folder, name), encodeEntry(entry), PRIVATE_MODE);
      await this.#view.look(name);
      return created ? entry.revision : undefined;
    });
  }

  update(key: string, value: Json, revision: number): Promise<number | undefined> {
    return this.#inTurn(key, async (name) =>
      this.#view.entryIn(name)?.revision === revision ? this.#replace(name, key, value) : undefined,
    );
  }

  put(key: string, value: Json): Promise<number> {
    return this.#inTurn(key, (name) => this.#replace(name, key, value));
  }

  isAbsent(key: string): Promise<boolean> {
    return this.#inTurn(key, async (name) => !this.#view.has(name));
  }

  delete(key: string): Promise<boolean> {
    return this.#inTurn(key, async (name) => {
      const deleted = await deleteFile(join(this.#folder, name));
      this.#view.forget(name);
      return deleted;
    });
  }

  async watch(listener: (change: Change) => void): Promise<Watch> {
    this.#expectOpen();
    return this.#watchers.add(this.#view.entries, listener);
  }

  /** Resolves when every write is finished. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#turns.idle();
    this.#watchers.clear();
  }

  #expectOpen(): void {
    if (this.#closed) throw unavailable('the bucket is closed');
  }

  async #replace(name: string, key: string, value: Json): Promise<number> {
    const entry = await this.#next(key, value);
    await replaceFile(join(this.#folder, name), encodeEntry(entry), PRIVATE_MODE);
    await this.#view.learn(name, entry);
    return entry.revision;
  }

  async #next(key: string, value: Json): Promise<Entry> {
    return Object.freeze({ key, value: storable(value), revision: await this.#revisions.after(this.#view.newest) });
  }

  /** Runs `work` when the writes before it are done and the key is known as it is on disk. */
  async #inTurn<T>(key: string, work: (name: string) => Promise<T>): Promise<T> {
    this.#expectOpen();
    const name = fileNameOf(key);
    try {
      return await this.#turns.take(async () => {
        await this.#view.look(name);
        return work(name);
      });
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined || error instanceof VouchError) throw error;
      throw unavailable(`${basename(this.#folder)} cannot be written (${code})`, error);
    }
  }

  async #poll(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      const changed = await this.#view.changed();
      if (changed.length > 0) await this.#turns.take(() => this.#view.lookAll(changed));
    } catch (error) {
      this.#logger.warn({ folder: this.#folder, error: messageOf(error) }, 'a bucket cannot be read');
    } finally {
      this.#polling = false;
    }
  }
}
