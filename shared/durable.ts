/**
 * The only module that writes files. Every durable write is spelled out here as its system calls, and what a function
 * promises holds through a crash of the process and of the machine once its promise has resolved:
 *
 *   replace  write aside, fsync, rename, fsync folder      the old content or the new, never a mixture
 *   create   write aside, fsync, link, fsync folder        the whole content or no file; exactly one creator wins
 *   stream   as replace, written piece by piece
 *   append   pwrite, fdatasync                             bytes that were synced stay; a torn tail is the caller's to find
 *   delete   unlink, fsync folder
 *   erase    write noise over it, fsync, unlink, fsync folder
 *   supersede  replace, but the old content keeps a name until it is erased, and only then is it done
 *
 * What is erased is gone from the file system's view of the disk. A file system that copies on write or journals data
 * (btrfs, ZFS, ext4 with data=journal), a snapshot of a volume, and a disk that spreads its wear (any SSD) may keep the
 * blocks that the bytes stood in before; nothing that a program writes to a file can change that.
 *
 * All of it needs a file system with hard links whose fsync is honest. What fails throws the system's error as it is.
 */
import { writeSync } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { systemEntropy } from './clock.js';

/** Readable by the owner alone. */
export const PRIVATE_MODE = 0o600;
export const PRIVATE_FOLDER_MODE = 0o700;
const DEFAULT_MODE = 0o644;
const NOISE_BYTES = 65_536;
const TEMPORARY = /^\.(\d+)-\d+-\d+\.tmp$/;
const SUPERSEDING = /^\.(.+)\.(?:superseded|next)$/;

let temporaries = 0;

/** In the folder of `path`, since rename and link do not cross file systems; the name says who is to clean it up. */
const temporaryBeside = (path: string): string =>
  join(dirname(path), `.${process.pid}-${threadId}-${++temporaries}.tmp`);

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** Makes the entries of a folder durable: files created, renamed and deleted in it. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * Makes the folder and those above it where they are missing. False where it was there; its entry is made durable all the
 * same, since who made it may have been killed before that.
 */
export async function makeDirectory(path: string, mode?: number): Promise<boolean> {
  try {
    return await makeEntry(path, mode);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectory(dirname(path), mode);
    // Once: there are places, such as /proc, where nothing can be made in a folder that is there.
    return makeEntry(path, mode);
  }
}

async function makeEntry(path: string, mode?: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return syncEntryOf(path);
    throw error;
  }
  await syncDirectory(dirname(path));
  return true;
}

async function syncEntryOf(path: string): Promise<false> {
  if (!(await stat(path)).isDirectory()) throw Object.assign(new Error(`${path} is no folder`), { code: 'ENOTDIR' });
  await syncDirectory(dirname(path)).catch((error: unknown) => {
    // Somebody else's folder, that we may pass through and not read: ours in it was made by them.
    if (codeOf(error) !== 'EACCES') throw error;
  });
  return false;
}

/** Writes the file whole, whether or not it was there. */
export async function replaceFile(path: string, bytes: Uint8Array | string, mode = DEFAULT_MODE): Promise<void> {
  const temporary = await writeAside(path, bytes, mode);
  await rename(temporary, path).catch(async (error: unknown) => {
    await unlink(temporary);
    throw error;
  });
  await syncDirectory(dirname(path));
}

/** Writes a file that must not be there yet; false where it is, whoever made it, in whichever process. */
export async function createFile(path: string, bytes: Uint8Array | string, mode = DEFAULT_MODE): Promise<boolean> {
  const temporary = await writeAside(path, bytes, mode);
  try {
    await link(temporary, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(temporary);
  }
  await syncDirectory(dirname(path));
  return true;
}

async function writeAside(
  path: string,
  bytes: Uint8Array | string,
  mode: number,
  temporary = temporaryBeside(path),
): Promise<string> {
  const file = await open(temporary, 'wx', mode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
  return temporary;
}

/** Makes durable what somebody else has written to the file; its name becomes durable with the next file of the folder. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** False where there was no such file. */
export async function deleteFile(path: string): Promise<boolean> {
  try {
    await unlink(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
  await syncDirectory(dirname(path));
  return true;
}

/** Writes noise over the bytes of the file, durably, whichever other names they have, and deletes it. False where it was not there. */
export async function eraseFile(path: string): Promise<boolean> {
  try {
    await overwrite(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
  return deleteFile(path);
}

async function overwrite(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    for (let at = 0; at < size; at += NOISE_BYTES) {
      const noise = systemEntropy(Math.min(NOISE_BYTES, size - at));
      await file.write(noise, 0, noise.length, at);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Names beside a file that is being superseded: of what it held before, until that is erased, and of what it is to hold. */
const supersededName = (path: string): string => join(dirname(path), `.${basename(path)}.superseded`);
const nextName = (path: string): string => join(dirname(path), `.${basename(path)}.next`);

/**
 * Replaces a file that is there, and erases what it held: once this resolves, no byte of that is left under any name. Cut
 * short, the file has the old content or the new, and `finishSuperseding` does the rest. One at a time for a file, between
 * processes too.
 */
export async function supersedeFile(path: string, bytes: Uint8Array | string, mode = DEFAULT_MODE): Promise<void> {
  await finishSuperseding(path);
  const next = await writeAside(path, bytes, mode, nextName(path));
  await link(path, supersededName(path));
  // Durable before the file's name goes to another content: a crash must not leave the old bytes without any name.
  await syncDirectory(dirname(path));
  await rename(next, path);
  await syncDirectory(dirname(path));
  await eraseFile(supersededName(path));
}

/** Does what a `supersedeFile` that was cut short has left to do. Nobody else may be superseding the file. */
export async function finishSuperseding(path: string): Promise<void> {
  await eraseFile(nextName(path));
  const old = supersededName(path);
  if ((await inodeOf(old)) === (await inodeOf(path))) await deleteFile(old);
  else await eraseFile(old);
}

/** Whether something of a `supersedeFile`, under way or cut short, is beside the file. */
export const isSuperseding = async (path: string): Promise<boolean> =>
  (await inodeOf(supersededName(path))) !== undefined || (await inodeOf(nextName(path))) !== undefined;

async function inodeOf(path: string): Promise<bigint | undefined> {
  try {
    return (await stat(path, { bigint: true })).ino;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Erases what is left in the folder by processes that are no more: superseded contents and files that were not finished.
 * Nobody else may be superseding a file of the folder.
 */
export async function eraseLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const superseding = SUPERSEDING.exec(name)?.[1];
    if (superseding !== undefined) await finishSuperseding(join(folder, superseding));
    const pid = TEMPORARY.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await eraseUnfinished(join(folder, name));
  }
}

/** A file that was being created: where it had got its name, the bytes are the file's. */
async function eraseUnfinished(path: string): Promise<void> {
  if ((await stat(path)).nlink > 1) await deleteFile(path);
  else await eraseFile(path);
}

/** Moves a file or a folder to a name that is free. False where there was nothing to move. */
export async function move(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
  await syncDirectory(dirname(to));
  if (dirname(from) !== dirname(to)) await syncDirectory(dirname(from));
  return true;
}

/** Deletes the folder and all in it, in no particular order: move it aside first where half of it must never be seen. */
export async function deleteTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await syncDirectory(dirname(path));
}

/** Deletes the folder if nothing is left in it. */
export async function deleteEmptyDirectory(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(codeOf(error) ?? '')) return;
    throw error;
  }
  await syncDirectory(dirname(path));
}

/**
 * Deletes what writes of processes that are no more have left in the folder. `isIdle`: this process writes nothing there,
 * so that what has its id is another's that had it before, as in a container.
 */
export async function deleteLeftovers(folder: string, { isIdle = false } = {}): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number(TEMPORARY.exec(name)?.[1]);
    if ((isIdle && pid === process.pid) || (pid > 0 && !isRunning(pid))) await deleteFile(join(folder, name));
  }
}

/** Whether there is a process of this id; it need not be the one that had the id before. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Synced this often, so that the last sync, and those of other files, never wait for all of a large file. */
const STREAM_SYNC_BYTES = 16 << 20;

/** A file that is written piece by piece beside its place. One of `finish` and `abandon` must be called. */
export class StreamedFile {
  #sizeBytes = 0;
  #unsyncedBytes = 0;

  private constructor(
    private readonly path: string,
    private readonly temporary: string,
    private readonly handle: FileHandle,
  ) {}

  static async begin(path: string, mode = DEFAULT_MODE): Promise<StreamedFile> {
    const temporary = temporaryBeside(path);
    return new StreamedFile(path, temporary, await open(temporary, 'wx', mode));
  }

  /** So far. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Appends. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let written = 0; written < bytes.length; )
      written += (await this.handle.write(bytes, written, bytes.length - written)).bytesWritten;
    this.#sizeBytes += bytes.length;
    this.#unsyncedBytes += bytes.length;
    if (this.#unsyncedBytes < STREAM_SYNC_BYTES) return;
    await this.handle.datasync();
    this.#unsyncedBytes = 0;
  }

  /** Puts the file in its place, whether or not one was there. */
  async finish(): Promise<void> {
    await this.handle.sync();
    await this.handle.close();
    await rename(this.temporary, this.path);
    await syncDirectory(dirname(this.path));
  }

  /** Nothing of it is left. */
  async abandon(): Promise<void> {
    await this.handle.close().catch(() => undefined);
    await unlink(this.temporary).catch(() => undefined);
  }
}

/** A file that is written in place. Nothing is durable before `sync` has resolved. */
export class DurableFile {
  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
  ) {}

  /** Opens a file that is there. */
  static async open(path: string): Promise<DurableFile> {
    return new DurableFile(path, await open(path, 'r+'));
  }

  /** Makes a file that must not be there yet. Its entry in the folder is not durable before the folder is. */
  static async create(path: string): Promise<DurableFile> {
    return new DurableFile(path, await open(path, 'wx+', DEFAULT_MODE));
  }

  async sizeBytes(): Promise<number> {
    return (await this.handle.stat()).size;
  }

  /** Fills `into` from the byte at `offset`; returns how many bytes there were. */
  async read(into: Uint8Array, offset: number): Promise<number> {
    let filled = 0;
    while (filled < into.length) {
      const { bytesRead } = await this.handle.read(into, filled, into.length - filled, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  }

  async write(bytes: Uint8Array, offset: number): Promise<void> {
    let written = 0;
    while (written < bytes.length) {
      const { bytesWritten } = await this.handle.write(bytes, written, bytes.length - written, offset + written);
      written += bytesWritten;
    }
  }

  /** A copy into the page cache within this call: for a few kilobytes cheaper than a trip through the thread pool. */
  writeNow(bytes: Uint8Array, offset: number): void {
    let written = 0;
    while (written < bytes.length)
      written += writeSync(this.handle.fd, bytes, written, bytes.length - written, offset + written);
  }

  /** Content and size are durable once this resolves. After a failure nothing is known of what was written before. */
  sync(): Promise<void> {
    return this.handle.datasync();
  }

  truncate(sizeBytes: number): Promise<void> {
    return this.handle.truncate(sizeBytes);
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
