/**
 * The only launcher of processes in tests. It collects output, waits for lines and ends with deadlines, and kills. It
 * leaves no process behind, not even after a failed test or a killed test run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { guarded } from '../../../scripts/local/supervisor/guarded.js';
import { readLines } from '../../../scripts/local/supervisor/lines.js';
import { PATIENCE_MS } from '../patience.js';

/** Output lines quoted when a wait fails. */
const QUOTED_LINES = 30;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface LaunchOptions {
  readonly cwd?: string;
  /** Added to this process's environment; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Pieces of its standard input, written one after another; without it, the input is empty. */
  readonly input?: readonly (string | Uint8Array)[];
  /** Keeps its standard input open after `input`. */
  readonly isInputOpen?: boolean;
}

export class Launched {
  readonly name: string;
  readonly pid: number;
  /** Resolves when the process is gone and its output read. */
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #watchers = new Set<() => void>();
  #end: Ended | undefined;

  constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.#child = child;
    this.pid = child.pid!;
    const onLine = (line: string): void => {
      this.#lines.push(line);
      this.#notify();
    };
    readLines(child.stdout!, onLine);
    readLines(child.stderr!, onLine);
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#end = { code, signal };
        resolve(this.#end);
        this.#notify();
      });
    });
  }

  /** Lines of both streams in the order of reading. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  get output(): string {
    return this.#lines.join('\n');
  }

  get running(): boolean {
    return this.#end === undefined;
  }

  /** The first matching line, at or after line `from`. Throws if the process ends or the deadline passes before. */
  waitForLine(pattern: RegExp, { from = 0 } = {}): Promise<string> {
    return this.#waitFor(`a line like ${pattern}`, PATIENCE_MS, (): string | undefined => {
      const found = this.#lines.slice(from).find((line) => pattern.test(line));
      if (found === undefined && this.#end) throw this.#failure(`ended without a line like ${pattern}`);
      return found;
    });
  }

  waitForEnd(timeoutMs = PATIENCE_MS): Promise<Ended> {
    return this.#waitFor('its end', timeoutMs, () => this.#end);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** kill -9, and waits until the process is gone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** SIGTERM, then SIGKILL if it does not end in time. */
  async stop(): Promise<Ended> {
    this.#child.kill('SIGTERM');
    const insist = setTimeout(() => this.#child.kill('SIGKILL'), PATIENCE_MS);
    const ended = await this.ended;
    clearTimeout(insist);
    return ended;
  }

  #notify(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  #waitFor<T>(what: string, timeoutMs: number, look: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const watcher = (): void => {
        try {
          const found = look();
          if (found !== undefined) settle(() => resolve(found));
        } catch (error) {
          settle(() => reject(error));
        }
      };
      const settle = (act: () => void): void => {
        clearTimeout(deadline);
        this.#watchers.delete(watcher);
        act();
      };
      const deadline = setTimeout(
        () => settle(() => reject(this.#failure(`did not show ${what} within ${timeoutMs} ms`))),
        timeoutMs,
      );
      this.#watchers.add(watcher);
      watcher();
    });
  }

  #failure(what: string): Error {
    return new Error(`${this.name} ${what}; its last lines:\n${this.#lines.slice(-QUOTED_LINES).join('\n')}`);
  }
}

const running = new Set<Launched>();

/** Starts a program. It is stopped at the end of the test run at the latest. */
export function launch(program: string, args: readonly string[], options: LaunchOptions = {}): Launched {
  const child: ChildProcess = guarded(
    spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    }),
  );
  if (child.pid === undefined) {
    child.once('error', () => {});
    throw new Error(`${program} could not be started`);
  }
  if (options.input !== undefined) feed(child.stdin!, options.input, options.isInputOpen);
  const launched = new Launched([program, ...args].join(' '), child);
  running.add(launched);
  void launched.ended.then(() => running.delete(launched));
  return launched;
}

function feed(stdin: Writable, pieces: readonly (string | Uint8Array)[], staysOpen = false): void {
  // A process that ends before it has read everything closes the pipe.
  stdin.on('error', () => undefined);
  for (const piece of pieces) stdin.write(piece);
  if (!staysOpen) stdin.end();
}

/** Starts a script with the Node that runs the tests. */
export const launchNode = (script: string, args: readonly string[] = [], options: LaunchOptions = {}): Launched =>
  launch(process.execPath, [script, ...args], options);

/** Whether the process runs; false for one that has ended but was not waited for. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    // Other systems have no such file system, or the process is gone by now.
    return process.platform !== 'linux';
  }
}

/** Stops every launched process that still runs. */
export async function stopEverything(): Promise<void> {
  await Promise.all([...running].map((launched) => launched.stop()));
}

// A test that failed midway may have left a process, which would keep the test run from ending.
if (typeof after === 'function') after(stopEverything);
