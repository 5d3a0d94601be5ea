/** Processor time of other processes. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Unit of the times in `/proc/<pid>/stat`, equal on every Linux. */
const TICKS_PER_SECOND = 100;
/** Index, after the name in brackets, of the field `utime`; `stime` follows. They are fields 14 and 15. */
const USER_FIELD = 11;

/** Seconds of processor time of each process since its start, by name. */
export async function cpuSeconds(processIds: Readonly<Record<string, number>>): Promise<Map<string, number>> {
  const spent = async ([name, pid]: [string, number]): Promise<[string, number]> => [name, await secondsOf(pid)];
  return new Map(await Promise.all(Object.entries(processIds).map(spent)));
}

async function secondsOf(pid: number): Promise<number> {
  if (process.platform !== 'linux') return secondsIn((await run('ps', ['-o', 'time=', '-p', String(pid)])).stdout);
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_FIELD]) + Number(fields[USER_FIELD + 1])) / TICKS_PER_SECOND;
}

/** `[hours:]minutes:seconds`, the last with a fraction. */
const secondsIn = (time: string): number => time.split(':').reduce((sum, part) => 60 * sum + Number(part), 0);
