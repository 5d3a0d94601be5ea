/** The open files of all logs: a bounded number; the least recently used file is closed first. */
import { join, sep } from 'node:path';
import { LRUCache } from 'lru-cache';
import { unavailable } from '../errors/errors.js';
import { DurableFile } from '../files/durable.js';

interface OpenFile {
  readonly file: Promise<DurableFile>;
  users: number;
  dropped: boolean;
}

export class SegmentFiles {
  readonly #open: LRUCache<string, OpenFile>;
  /** Uses and closings in progress. */
  readonly #inFlight = new Set<Promise<unknown>>();
  #closed = false;

  /** A file in use is never closed, so more than `openMax` may be open then. */
  constructor(openMax: number) {
    this.#open = new LRUCache({ max: openMax, dispose: (entry) => this.#drop(entry) });
  }

  /** Runs `work` on the file, which stays open meanwhile. Throws the system's errors. */
  use<T>(path: string, work: (file: DurableFile) => T | Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(unavailable('the log is closed'));
    const using = this.#use(this.#take(path), work);
    this.#track(using);
    return using;
  }

  /** Drops a file, or the files in a folder: later uses open them again. */
  forget(path: string): void {
    for (const each of this.#open.keys())
      if (each === path || each.startsWith(join(path, sep))) this.#open.delete(each);
  }

  /** Resolves when all uses have ended and all files are closed. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#inFlight);
    this.#open.clear();
    await Promise.all(this.#inFlight);
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
    // A file that did not open has nothing to close; writes were synced before.
    this.#track(entry.file.then((file) => file.close()));
  }

  #track(work: Promise<unknown>): void {
    const ended = work.catch(() => undefined).finally(() => this.#inFlight.delete(ended));
    this.#inFlight.add(ended);
  }
}
