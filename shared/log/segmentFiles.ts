/** The open files of all logs together: at most so many, the least recently used is closed first. */
import { join, sep } from 'node:path';
import { LRUCache } from 'lru-cache';
import { DurableFile } from '../durable.js';
import { unavailable } from '../errors.js';

interface OpenFile {
  readonly file: Promise<DurableFile>;
  users: number;
  dropped: boolean;
}

export class SegmentFiles {
  readonly #open: LRUCache<string, OpenFile>;
  readonly #using = new Set<Promise<unknown>>();
  readonly #closing = new Set<Promise<void>>();
  #closed = false;

  /** A file in use is never closed, so more than `openMax` may be open while as many are in use. */
  constructor(openMax: number) {
    this.#open = new LRUCache({ max: openMax, dispose: (entry) => this.#drop(entry) });
  }

  /** Runs `work` over the file, which stays open meanwhile. Throws what the system throws. */
  use<T>(path: string, work: (file: DurableFile) => T | Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(unavailable('the log is closed'));
    const using = this.#use(this.#take(path), work);
    const settled = using.catch(() => undefined).finally(() => this.#using.delete(settled));
    this.#using.add(settled);
    return using;
  }

  /** What is opened later under a path in that folder is opened anew. */
  forget(folder: string): void {
    for (const path of this.#open.keys()) if (path.startsWith(join(folder, sep))) this.#open.delete(path);
  }

  /** Resolves when what is in use is finished and everything is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#using);
    this.#open.clear();
    await Promise.all(this.#closing);
  }

  async #use<T>(entry: OpenFile, work: (file: DurableFile) => T | Promise<T>): Promise<T> {
    entry.users++;
    try {
      return await work(await entry.file);
    } finally {
      entry.users--;
      if (entry.dropped && entry.users === 0) this.#close(entry);
    }
  }

  #take(path: string): OpenFile {
    const found = this.#open.get(path);
    if (found !== undefined) return found;
    const entry: OpenFile = { file: DurableFile.open(path), users: 0, dropped: false };
    this.#open.set(path, entry);
    entry.file.catch(() => {
      if (this.#open.peek(path) === entry) this.#open.delete(path);
    });
    return entry;
  }

  #drop(entry: OpenFile): void {
    entry.dropped = true;
    if (entry.users === 0) this.#close(entry);
  }

  #close(entry: OpenFile): void {
    // A file that did not open has nothing to close, and what was written was synced before.
    const closing = entry.file.then((file) => file.close()).catch(() => undefined);
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }
}
