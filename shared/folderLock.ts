/**
 * One process at a time on a data folder, or on a piece of work. The lock is a file that names its holder by process id and
 * start time, so that a holder that was killed does not keep it, and a later process that got the same id is not taken for it.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { codeOf, createFile, deleteFile, isRunning, move } from './durable.js';

export interface LockHolder {
  readonly host: string;
  readonly pid: number;
  /** When the process was started, in whatever form the system tells it; null where it does not. */
  readonly started: string | null;
}

export interface FolderLock {
  release(): Promise<void>;
}

const LOCK_FILE = 'lock';
const ATTEMPTS_MAX = 5;

/** Throws an Error that names the holder where another process, or this one, has the folder. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const path = join(folder, LOCK_FILE);
  const taken = await takeLock(path);
  if ('release' in taken) return taken;
  throw new Error(refusal(folder, path, taken));
}

/** The lock at this path, or who has it. */
export async function takeLock(path: string): Promise<FolderLock | LockHolder> {
  const own = await holderOf(process.pid);
  const mine = JSON.stringify(own);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    if (await createFile(path, mine)) return { release: () => release(path, mine) };
    const found = await contentOf(path);
    if (found === undefined) continue;
    const holder = parseHolder(found);
    if (holder !== undefined && (await isHeld(holder))) return holder;
    await discard(path, found);
  }
  throw new Error(`the lock ${path} is being taken by other processes`);
}

async function holderOf(pid: number): Promise<LockHolder> {
  return { host: hostname(), pid, started: await startOf(pid) };
}

async function isHeld(holder: LockHolder): Promise<boolean> {
  // Process ids of another machine say nothing here.
  if (holder.host !== hostname()) return true;
  if (!isRunning(holder.pid)) return false;
  const started = await startOf(holder.pid);
  return started === null || holder.started === null || started === holder.started;
}

function refusal(folder: string, path: string, { host, pid }: LockHolder): string {
  return host === hostname()
    ? `the data folder ${folder} is in use by process ${pid}; stop it, or set VOUCH_DATA_DIR to another folder`
    : `the data folder ${folder} is locked by process ${pid} of host ${host}; if that is gone, delete ${path}`;
}

/** Two that find the same dead holder must not both win: who moves away a living lock by mistake puts it back. */
async function discard(path: string, stale: string): Promise<void> {
  const aside = `${path}.${process.pid}.stale`;
  if (!(await move(path, aside))) return;
  const moved = await contentOf(aside);
  if (moved !== undefined && moved !== stale) await createFile(path, moved);
  await deleteFile(aside);
}

async function release(path: string, mine: string): Promise<void> {
  if ((await contentOf(path)) === mine) await deleteFile(path);
}

async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Undefined where the file is not one of ours: it cannot be held then. */
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

/** Linux: ticks since a boot that is named; `ended` for a process that only waits for its parent. Elsewhere: what `ps` says. */
async function startOf(pid: number): Promise<string | null> {
  try {
    if (process.platform === 'linux') {
      const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      // The command name, in parentheses, may hold spaces; the state is the first field after it, starttime the 20th (proc(5)).
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : `${boot} ${fields[19]}`;
    }
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim() || null;
  } catch {
    return null;
  }
}
