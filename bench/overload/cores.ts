/** Separate cores for the service and for the load, on systems that let them be chosen. */
import { execFile } from 'node:child_process';
import { cpus } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The first core for the service; the others make the load. */
export const SERVICE_CORES = '0';
export const LOAD_CORES = `1-${cpus().length - 1}`;

/** Moves all threads of the processes. False if the system does not allow it. */
export async function moveTo(cores: string, processIds: readonly number[]): Promise<boolean> {
  if (cpus().length < 2) return false;
  try {
    for (const pid of processIds) await run('taskset', ['-a', '-p', '-c', cores, String(pid)]);
    return true;
  } catch {
    return false;
  }
}
