/** Memory of other processes. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Resident bytes of each process by name, from `ps`, which Linux and macOS have. */
export async function residentBytes(processIds: Readonly<Record<string, number>>): Promise<Map<string, number>> {
  const resident = async ([name, pid]: [string, number]): Promise<[string, number]> => {
    const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]);
    return [name, Number(stdout) * 1024];
  };
  return new Map(await Promise.all(Object.entries(processIds).map(resident)));
}
