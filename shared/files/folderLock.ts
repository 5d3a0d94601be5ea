/**
 * Locks a data folder, or a piece of work, for one process. The lock is a file with the holder's process id and start time. So it
 * ends with its holder, and a later process with that id is not taken for the holder.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createFile, deleteFile, ifThere, move, temporaryBeside } from './durable.js';
import { isRunning } from './isRunning.js';

export interface LockHolder {
  readonly host: string;
  readonly pid: number;
  /** The start of the process, in the system's form; null where it is unknown. */
  readonly started: string | null;
}

export interface FolderLock {
  release(): Promise<void>;
}

/**
 * Locks of this process that a failed call (EIO) may have left behind, by path and content. They have no holder, and would lock
 * the process out until it ends.
 */
const leftBehind = new Set<string>();
/** Makes the content of each lock of this process differ. */
let takes = 0;

const LOCK_FILE = 'lock';
const ATTEMPTS_MAX = 5;

/** Throws an Error that names the holder if the folder is locked. `other`: advice on how to use another folder. */
export async function lockFolder(folder: string, other = 'set VOUCH_DATA_DIR to another folder'): Promise<FolderLock> {
  const path = join(folder, LOCK_FILE);
  const taken = await takeLock(path);
  if ('release' in taken) return taken;
  throw new Error(refusal(folder, path, taken, other));
}

/** Takes the lock at this path, or returns its holder. */
export async function takeLock(path: string): Promise<FolderLock | LockHolder> {
  const own: LockHolder = { host: hostname(), pid: process.pid, started: await startOf(process.pid) };
  const mine = JSON.stringify({ ...own, take: ++takes });
  const orLeave = leaving(path, mine);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    if (await createFile(path, mine).catch(orLeave)) return { release: () => release(path, mine).catch(orLeave) };
    const found = await contentOf(path);
    if (found === undefined) continue;
    const holder = parseHolder(found);
    const isLeft = leftBehind.has(named(path, found));
    if (!isLeft && holder !== undefined && (await isHeld(holder))) return holder;
    await discard(path, found);
    leftBehind.delete(named(path, found));
  }
  throw new Error(`the lock ${path} is being taken by other processes`);
}

const named = (path: string, content: string): string => `${path} ${content}`;

/** Notes that a failed call may have left the lock behind. */
const leaving =
  (path: string, mine: string) =>
  (error: unknown): never => {
    leftBehind.add(named(path, mine));
    throw error;
  };

async function isHeld(holder: LockHolder): Promise<boolean> {
  // A process of another machine cannot be checked, so it counts as running.
  if (holder.host !== hostname()) return true;
  if (!isRunning(holder.pid)) return false;
  const started = await startOf(holder.pid);
  return started === null || holder.started === null || started === holder.started;
}

function refusal(folder: string, path: string, { host, pid }: LockHolder, other: string): string {
  return host === hostname()
    ? `the data folder ${folder} is in use by process ${pid}; stop it, or ${other}`
    : `the data folder ${folder} is locked by process ${pid} of host ${host}; if that is gone, delete ${path}`;
}

/** Removes a stale lock. A lock of another process, moved away by mistake, is put back. */
async function discard(path: string, stale: string): Promise<void> {
  const aside = temporaryBeside(path);
  if (!(await move(path, aside))) return;
  const moved = await contentOf(aside);
  if (moved !== undefined && moved !== stale) await createFile(path, moved);
  await deleteFile(aside);
}

async function release(path: string, mine: string): Promise<void> {
  if ((await contentOf(path)) === mine) await deleteFile(path);
}

const contentOf = (path: string): Promise<string | undefined> => ifThere(readFile(path, 'utf8'));

/** Undefined if the file is not a lock, which then has no holder. */
function parseHolder(text: string): LockHolder | undefined {
  try {
    const { host, pid, started } = JSON.parse(text) as Partial<LockHolder>;
    return typeof host === 'string' && Number.isSafeInteger(pid)
      ? { host, pid: pid!, started: started ?? null }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The start of a process. Linux: the boot and ticks since then, `ended` for a zombie. Elsewhere: the output of `ps`. */
async function startOf(pid: number): Promise<string | null> {
  try {
    if (process.platform === 'linux') {
      const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      // The command name, in parentheses, may contain spaces. After it the state is the first field, starttime the 20th (proc(5)).
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : `${boot} ${fields[19]}`;
    }
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim() || null;
  } catch {
    return null;
  }
}
