/**
 * Revisions for all processes that write to a folder. They only grow, also after crashes and deletes. They come from blocks; a
 * block belongs to the process that created its file, and is used once.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createFile, deleteFile } from '../files/durable.js';

const BLOCK_REVISIONS = 2 ** 20;
const BLOCK_FILE = /^\.revisions-(\d+)$/;

export class Revisions {
  #next = 0;
  #blockEnd = 0;

  constructor(private readonly folder: string) {}

  /** Returns a revision above `newest` and above all earlier ones of this process. */
  async after(newest: number): Promise<number> {
    while (this.#next >= this.#blockEnd || this.#blockEnd <= newest + 1) await this.#claim(newest);
    this.#next = Math.max(this.#next, newest + 1);
    return this.#next++;
  }

  /** Claims a block. Costs a few syncs for each process and million revisions. */
  async #claim(newest: number): Promise<void> {
    const claimed = (await readdir(this.folder)).flatMap((name) => BLOCK_FILE.exec(name)?.[1] ?? []).map(Number);
    const block = Math.max(-1, Math.floor(newest / BLOCK_REVISIONS), ...claimed) + 1;
    if (!(await createFile(this.#pathOf(block), ''))) return;
    // Only the newest block is needed.
    for (const older of claimed) await deleteFile(this.#pathOf(older));
    this.#next = Math.max(1, block * BLOCK_REVISIONS);
    this.#blockEnd = (block + 1) * BLOCK_REVISIONS;
  }

  #pathOf(block: number): string {
    return join(this.folder, `.revisions-${block}`);
  }
}
