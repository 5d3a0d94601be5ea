/**
 * The only module that writes files. Once the promise of a function has resolved, its effect survives a crash of the process and
 * of the machine. The kinds of durable write, with their system calls:
 * ```text
 * replace  write aside, fsync, rename, fsync folder      the old content or the new, never a mixture
 * create   write aside, fsync, link, fsync folder        the whole content or no file; exactly one creator wins
 * stream   replace, written piece by piece
 * append   pwrite, fdatasync                             bytes that were synced stay; a torn tail is the caller's to find
 * delete   unlink, fsync folder
 * erase    write noise over it, fsync, unlink, fsync folder
 * supersede  replace, but the old content keeps a name until it is erased; done only then
 * ```
 *
 * Erased bytes are gone from the file. Old blocks may remain where no program can erase them. That is a file system that copies on
 * write or journals data (btrfs, ZFS, ext4 with data=journal), a volume's snapshot, or an SSD. The file system needs hard links and an honest fsync. A failure throws the system's error.
 * Files have mode 0600 and folders 0700.
 */
import { writeSync } from 'node:fs';
import {
  chmod,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { systemEntropy } from '../clock.js';
import { VouchError } from '../errors/errors.js';
import { named, withName } from './fileErrors.js';
import { isRunning } from './isRunning.js';

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** The mode of a folder without private content, such as fetched programs. */
export const PUBLIC_FOLDER_MODE = 0o755;
/** The permissions of the group and all other users, and of only all other users. */
export const OTHERS_MODE = 0o077;
export const STRANGERS_MODE = 0o007;
const NOISE_BYTES = 65_536;
const TEMPORARY = /^\.(\d+)-\d+-\d+\.tmp$/;
const SUPERSEDING = /^\.(.+)\.(?:superseded|next)$/;

let temporaries = 0;

/** A name beside `path`, since rename and link do not cross file systems. It contains the id of the process that uses it. */
export const temporaryBeside = (path: string): string =>
  join(dirname(path), `.${process.pid}-${threadId}-${++temporaries}.tmp`);

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

async function withOpen(path: string, flags: 'r' | 'r+', work: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, flags);
  try {
    await work(file);
  } finally {
    await file.close();
  }
}

/** Writes all of `bytes` from the byte at `offset` on. */
async function writeAll(file: FileHandle, bytes: Uint8Array, offset: number, path: string): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, offset + done).catch(named(path))).bytesWritten;
}

/** Whether the error comes from the system, such as from an unreadable disk. */
export const isOfSystem = (error: unknown): boolean => codeOf(error) !== undefined && !(error instanceof VouchError);

/** Resolves like `work`; to undefined if the file or folder does not exist. */
export const ifThere = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });

/** Makes the names in a folder durable. After a failure they are visible all the same: a caller that relies on them syncs again. */
export const syncDirectory = (path: string): Promise<void> => withOpen(path, 'r', (directory) => directory.sync());

/**
 * Makes the folder and its parents. Returns false if it existed; its entry is synced all the same, since its creator may have
 * been killed before that.
 */
export async function makeDirectory(path: string, mode = FOLDER_MODE): Promise<boolean> {
  try {
    return await makeEntry(path, mode);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectory(dirname(path), mode);
    // A single repetition: in some folders, such as /proc, nothing can be made.
    return makeEntry(path, mode);
  }
}

async function makeEntry(path: string, mode: number): Promise<boolean> {
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
  if (!(await stat(path)).isDirectory()) throw Object.assign(new Error(`${path} is not a folder`), { code: 'ENOTDIR' });
  await syncDirectory(dirname(path)).catch((error: unknown) => {
    // Another user's folder that we may not read: its owner made our folder in it.
    if (codeOf(error) !== 'EACCES') throw error;
  });
  return false;
}

/** Writes the whole file, replacing an older one. */
export async function replaceFile(path: string, bytes: Uint8Array | string): Promise<void> {
  const temporary = await writeAside(path, bytes);
  await rename(temporary, path).catch(async (error: unknown) => {
    await unlink(temporary);
    throw withName(error, path);
  });
  await syncDirectory(dirname(path));
}

/** Writes a new file. Returns false if it exists, also if another process has just made it; its name is durable all the same. */
export async function createFile(path: string, bytes: Uint8Array | string): Promise<boolean> {
  const temporary = await writeAside(path, bytes);
  const isNew = await link(temporary, path)
    .then(() => true)
    .catch((error: unknown) => {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    })
    .finally(() => unlink(temporary));
  await syncDirectory(dirname(path));
  return isNew;
}

async function writeAside(path: string, bytes: Uint8Array | string, name?: string): Promise<string> {
  const temporary = name ?? temporaryBeside(path);
  const file = await open(temporary, 'wx', FILE_MODE).catch(named(path));
  try {
    await file.writeFile(bytes);
    await file.sync();
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw withName(error, path);
  } finally {
    await file.close();
  }
  return temporary;
}

/**
 * Syncs a file that a library has written, and closes it to other users. Its name becomes durable with the next file of
 * the folder.
 */
export const syncFile = (path: string): Promise<void> =>
  withOpen(path, 'r', async (file) => {
    await file.chmod(FILE_MODE);
    await file.sync();
  });

/** Returns false if the file does not exist. */
export async function deleteFile(path: string): Promise<boolean> {
  const deleted = await ifThere(unlink(path).then(() => true));
  if (deleted) await syncDirectory(dirname(path));
  return deleted ?? false;
}

/** Overwrites the file with noise, under all its names, and deletes it. Returns false if the file does not exist. */
export const eraseFile = async (path: string): Promise<boolean> =>
  (await ifThere(overwrite(path).then(() => true))) === true && deleteFile(path);

const overwrite = (path: string): Promise<void> =>
  withOpen(path, 'r+', async (file) => {
    const { size } = await file.stat();
    for (let at = 0; at < size; at += NOISE_BYTES)
      await writeAll(file, systemEntropy(Math.min(NOISE_BYTES, size - at)), at, path);
    await file.sync();
  });

/** Names during `supersedeFile`: of the old content until it is erased, and of the new content. */
const supersededName = (path: string): string => join(dirname(path), `.${basename(path)}.superseded`);
const nextName = (path: string): string => join(dirname(path), `.${basename(path)}.next`);

/**
 * Replaces an existing file and erases its old content under all names. After a crash the file has the old or the new content,
 * and `finishSuperseding` does the rest. Only one process at a time may supersede a file.
 */
export async function supersedeFile(path: string, bytes: Uint8Array | string): Promise<void> {
  await finishSuperseding(path);
  const next = await writeAside(path, bytes, nextName(path));
  await link(path, supersededName(path));
  // Synced before the rename: a crash must not leave the old bytes without a name.
  await syncDirectory(dirname(path));
  await rename(next, path);
  await syncDirectory(dirname(path));
  await eraseFile(supersededName(path));
}

/** Completes a `supersedeFile` that was interrupted. No other call may be superseding the file. */
export async function finishSuperseding(path: string): Promise<void> {
  await eraseFile(nextName(path));
  const old = supersededName(path);
  if ((await inodeOf(old)) === (await inodeOf(path))) await deleteFile(old);
  else await eraseFile(old);
}

/** Whether a `supersedeFile` of the file is in progress or was interrupted. */
export const isSuperseding = async (path: string): Promise<boolean> =>
  (await inodeOf(supersededName(path))) !== undefined || (await inodeOf(nextName(path))) !== undefined;

/** The size of a file or folder; undefined if it does not exist. */
export const fileBytes = async (path: string): Promise<number | undefined> => (await ifThere(stat(path)))?.size;

export const isThere = async (path: string): Promise<boolean> => (await fileBytes(path)) !== undefined;

const inodeOf = async (path: string): Promise<bigint | undefined> => (await ifThere(stat(path, { bigint: true })))?.ino;

/**
 * Erases superseded contents and unfinished files of ended processes in the folder. No other process may be superseding a file
 * there.
 */
export async function eraseLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const superseding = SUPERSEDING.exec(name)?.[1];
    if (superseding !== undefined) await finishSuperseding(join(folder, superseding));
    const pid = TEMPORARY.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await eraseUnfinished(join(folder, name));
  }
}

/** Erases a temporary file; if it already has its final name, deletes only the temporary name. */
async function eraseUnfinished(path: string): Promise<void> {
  if ((await stat(path)).nlink > 1) await deleteFile(path);
  else await eraseFile(path);
}

/** Moves a file or a folder to a free name. Returns false if `from`, or the folder of `to`, does not exist. */
export async function move(from: string, to: string): Promise<boolean> {
  if ((await ifThere(rename(from, to).then(() => true))) === undefined) return false;
  await syncDirectory(dirname(to));
  if (dirname(from) !== dirname(to)) await syncDirectory(dirname(from));
  return true;
}

/**
 * Removes the permissions of other users from a file or a folder. Returns its old mode; undefined if they had none. A symbolic
 * link stays unchanged.
 */
export async function closeToOthers(path: string): Promise<number | undefined> {
  const entry = await lstat(path);
  const mode = entry.mode & 0o7777;
  if (entry.isSymbolicLink() || (mode & OTHERS_MODE) === 0) return undefined;
  await chmod(path, mode & ~OTHERS_MODE);
  return mode;
}

/** Deletes the folder and its content, in no particular order. Neither it nor the folder above needs to exist. */
export async function deleteTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await ifThere(syncDirectory(dirname(path)));
}

/** Deletes the folder if it is empty. */
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
 * Deletes unfinished files of ended processes. `isIdle`: this process writes nothing in the folder. A file with its process id
 * is then of an earlier process with that id, as in a container.
 */
export async function deleteLeftovers(folder: string, { isIdle = false } = {}): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number(TEMPORARY.exec(name)?.[1]);
    if ((isIdle && pid === process.pid) || (pid > 0 && !isRunning(pid))) await deleteFile(join(folder, name));
  }
}

/** The bytes between two syncs, so that no sync waits for a whole large file. */
const STREAM_SYNC_BYTES = 16 << 20;

/** A file that is written in pieces beside its final name. One of `finish` and `abandon` must be called. */
export class StreamedFile {
  #sizeBytes = 0;
  #unsyncedBytes = 0;

  private constructor(
    private readonly path: string,
    private readonly temporary: string,
    private readonly handle: FileHandle,
  ) {}

  static async begin(path: string): Promise<StreamedFile> {
    const temporary = temporaryBeside(path);
    return new StreamedFile(path, temporary, await open(temporary, 'wx', FILE_MODE).catch(named(path)));
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Appends bytes. */
  async write(bytes: Uint8Array): Promise<void> {
    await writeAll(this.handle, bytes, this.#sizeBytes, this.path);
    this.#sizeBytes += bytes.length;
    this.#unsyncedBytes += bytes.length;
    if (this.#unsyncedBytes < STREAM_SYNC_BYTES) return;
    await this.handle.datasync().catch(named(this.path));
    this.#unsyncedBytes = 0;
  }

  /** Gives the file its name, replacing an older one. */
  async finish(): Promise<void> {
    await this.handle.sync().catch(named(this.path));
    await this.handle.close();
    await rename(this.temporary, this.path).catch(named(this.path));
    await syncDirectory(dirname(this.path));
  }

  /** Deletes it. */
  async abandon(): Promise<void> {
    await this.handle.close().catch(() => undefined);
    await unlink(this.temporary).catch(() => undefined);
  }
}

/** A file that is written in place. Writes are durable once `sync` has resolved. */
export class DurableFile {
  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
  ) {}

  /** Opens an existing file. */
  static async open(path: string): Promise<DurableFile> {
    return new DurableFile(path, await open(path, 'r+'));
  }

  /** Makes a new file. Its name is durable once the folder is synced. */
  static async create(path: string): Promise<DurableFile> {
    return new DurableFile(path, await open(path, 'wx+', FILE_MODE));
  }

  async sizeBytes(): Promise<number> {
    return (await this.handle.stat()).size;
  }

  /** Fills `into` from the byte at `offset`. Returns the number of bytes read. */
  async read(into: Uint8Array, offset: number): Promise<number> {
    for (let filled = 0; ; ) {
      const { bytesRead } = await this.handle.read(into, filled, into.length - filled, offset + filled);
      filled += bytesRead;
      if (bytesRead === 0 || filled === into.length) return filled;
    }
  }

  write(bytes: Uint8Array, offset: number): Promise<void> {
    return writeAll(this.handle, bytes, offset, this.path);
  }

  /** Copies into the page cache within this call: for a few kilobytes cheaper than the thread pool. */
  writeNow(bytes: Uint8Array, offset: number): void {
    try {
      for (let written = 0; written < bytes.length; )
        written += writeSync(this.handle.fd, bytes, written, bytes.length - written, offset + written);
    } catch (error) {
      throw withName(error, this.path);
    }
  }

  /** Makes content and size durable. After a failure, earlier writes may be lost. */
  sync(): Promise<void> {
    return this.handle.datasync().catch(named(this.path));
  }

  truncate(sizeBytes: number): Promise<void> {
    return this.handle.truncate(sizeBytes).catch(named(this.path));
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
