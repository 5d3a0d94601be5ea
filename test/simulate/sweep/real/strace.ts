/** Traces system calls of a real process with strace, and injects faults at one of them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { guarded } from '../../../../scripts/local/supervisor/guarded.js';

/** Disk calls of the product, except reads. */
const CALLS = 'openat,write,pwrite64,fsync,fdatasync,rename,link,unlink,rmdir,mkdir,ftruncate';
const ATTACHED = /attached/;
/** A call that failed, or that never returned. */
const FAULTY = /\(INJECTED\)$|= \?$/;

export const REAL_WAYS = ['EIO', 'ENOSPC', 'killed before'] as const;
export type RealWay = (typeof REAL_WAYS)[number];

export interface TracedCall {
  readonly tid: number;
  readonly name: string;
  /** A line of strace, with the paths of descriptors. */
  readonly line: string;
}

export interface Traced {
  readonly calls: readonly TracedCall[];
  /** The call that met the fault. */
  readonly faulty: TracedCall | undefined;
}

/** Injects at the `nth` call of that name by the traced thread, from 1. */
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

  /**
   * Attaches to a process with all its threads, or to one thread for a fault. Throws an Error if the system forbids it.
   */
  static async attach(id: number, file: string, injection?: Injection): Promise<Strace> {
    const threads = injection === undefined ? ['-f'] : injected(injection);
    const args = ['-y', '-s', '0', '-o', file, '-e', `trace=${CALLS}`, '-e', 'signal=none', ...threads, '-p', `${id}`];
    const child = guarded(spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] }));
    let output = '';
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', () => reject(new Error(output)));
      child.stderr!.on('data', (chunk) => {
        output += chunk;
        if (ATTACHED.test(output)) resolve();
      });
    });
    return new Strace(child, file);
  }

  /** Detaches. Returns the calls in order. */
  async detach(): Promise<Traced> {
    if (this.child.exitCode === null) this.child.kill('SIGINT');
    await this.#ended;
    const calls = (await readFile(this.file, 'utf8')).split('\n').flatMap(callIn);
    return { calls, faulty: calls.find(({ line }) => FAULTY.test(line)) };
  }
}

/** Reason why strace cannot attach to processes here; undefined if it can. */
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

/** With one thread, strace omits its id. */
function callIn(line: string): TracedCall[] {
  const [, tid = '0', name] = /^(?:(\d+) +)?(\w+)\(/.exec(line) ?? [];
  return name === undefined ? [] : [{ tid: Number(tid), name, line }];
}
