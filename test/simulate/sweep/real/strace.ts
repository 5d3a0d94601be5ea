/** Calls of the system that a real process makes, as strace tells them, and faults at one of them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { guarded } from '../../../../scripts/local/supervisor/guarded.js';

/** Calls of the disk that the product makes, without those that read. */
const CALLS = 'openat,write,pwrite64,fsync,fdatasync,rename,link,unlink,rmdir,mkdir,ftruncate';
const ATTACHED = /attached/;
/** A call that failed, or one that never came back. */
const FAULTY = /\(INJECTED\)$|= \?$/;

export const REAL_WAYS = ['EIO', 'ENOSPC', 'killed before'] as const;
export type RealWay = (typeof REAL_WAYS)[number];

export interface TracedCall {
  readonly tid: number;
  readonly name: string;
  /** As strace writes it, with the paths of descriptors. */
  readonly line: string;
}

export interface Traced {
  readonly calls: readonly TracedCall[];
  /** The one at which the fault came. */
  readonly faulty: TracedCall | undefined;
}

/** Of the `nth` call of that name by the thread that is traced, from 1. */
export interface Injection {
  readonly name: string;
  readonly nth: number;
  readonly way: RealWay;
}

export class Strace {
  readonly #ended: Promise<unknown>;

  private constructor(
    private readonly child: ChildProcess,
    private readonly file: string,
  ) {
    this.#ended = once(child, 'exit');
  }

  /** Follows a process with all of its threads, or one thread where a fault is to come. Throws an Error where it must not. */
  static async attach(id: number, file: string, injection?: Injection): Promise<Strace> {
    const threads = injection === undefined ? ['-f'] : injected(injection);
    const args = ['-y', '-s', '0', '-o', file, '-e', `trace=${CALLS}`, '-e', 'signal=none', ...threads, '-p', `${id}`];
    const child = guarded(spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] }));
    let told = '';
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', () => reject(new Error(told)));
      child.stderr!.on('data', (chunk) => {
        told += chunk;
        if (ATTACHED.test(told)) resolve();
      });
    });
    return new Strace(child, file);
  }

  /** Lets the process go on alone. Returns what it has called, in order. */
  async detach(): Promise<Traced> {
    if (this.child.exitCode === null) this.child.kill('SIGINT');
    await this.#ended;
    const calls = (await readFile(this.file, 'utf8')).split('\n').flatMap(callIn);
    return { calls, faulty: calls.find(({ line }) => FAULTY.test(line)) };
  }
}

/** What keeps strace from following a process here; undefined where nothing does. */
export const whyNoStrace = (file: string): Promise<string | undefined> =>
  Strace.attach(process.pid, file).then(
    async (strace) => {
      await strace.detach();
      return undefined;
    },
    (error: Error) => error.message.trim(),
  );

const injected = ({ name, nth, way }: Injection): string[] => [
  '-e',
  `inject=${name}:${way === 'killed before' ? 'signal=KILL' : `error=${way}`}:when=${nth}`,
];

/** With one thread, strace leaves its number out. */
function callIn(line: string): TracedCall[] {
  const [, tid = '0', name] = /^(?:(\d+) +)?(\w+)\(/.exec(line) ?? [];
  return name === undefined ? [] : [{ tid: Number(tid), name, line }];
}
