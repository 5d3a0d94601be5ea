/** What other processes take of the machine's processors. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Of `/proc/<pid>/stat`, the same on every Linux. */
const TICKS_PER_SECOND = 100;
/** After the name in brackets: the fields `utime` and `stime`, 14 and 15 of them all. */
const USER_FIELD = 11;

/** Seconds of processor time that each process has had since it began, by what it is called. */
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
