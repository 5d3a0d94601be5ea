/** A standalone node as a real process over a data folder; the tool that rotates its master key is another process. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { guarded } from '../../../../scripts/local/supervisor/guarded.js';
import { readLines } from '../../../../scripts/local/supervisor/lines.js';
import { isAlarm } from '../../cluster/simulatedLogger.js';
import type { Order } from './rotating.js';
import type { Served } from './standalone.js';

/** Only the main thread and one other make file calls. */
const ONE_POOL_THREAD = { UV_THREADPOOL_SIZE: '1', UV_USE_IO_URING: '0' };
/** Largest number of last lines shown of a process that ended by itself. */
const SHOWN_LINES = 5;

const NODE = fileURLToPath(new URL('./standalone.js', import.meta.url));
const TOOL = fileURLToPath(new URL('./rotating.js', import.meta.url));

/** Ids of its threads, in order of their start. */
export const threadsOf = async (pid: number): Promise<number[]> =>
  (await readdir(`/proc/${pid}/task`)).map(Number).sort((a, b) => a - b);

class Program {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly lines: string[] = [];

  constructor(program: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const;
    this.#child = guarded(
      fork(program, [...args], { env: { ...process.env, ...ONE_POOL_THREAD, ...env }, stdio: [...stdio] }),
    );
    this.#ended = once(this.#child, 'exit');
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) readLines(stream, (line) => this.lines.push(line));
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Rejects if the process ends without a message. */
  async message<T>(): Promise<T> {
    const ended = this.#ended.then(() => Promise.reject(new Error(`a program ended: ${this.lastLines}`)));
    const [message] = (await Promise.race([once(this.#child, 'message'), ended])) as [T];
    return message;
  }

  get lastLines(): string {
    return this.lines.slice(-SHOWN_LINES).join('\n');
  }

  send(message: Order): void {
    this.#child.send(message);
  }

  /** Rejects if the process exits with a failure. */
  async done(): Promise<void> {
    await this.#ended;
    if (this.#child.exitCode !== 0) throw new Error(`a program ended: ${this.lastLines}`);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

export class RealService {
  #node: Program | undefined;
  #tool: Program | undefined;
  #served: Served | undefined;
  /** Lines that no fault may cause. */
  readonly alarms: string[] = [];

  constructor(
    readonly dataDir: string,
    private readonly settings: Readonly<Record<string, string>>,
  ) {}

  get pid(): number {
    return this.#node!.pid;
  }

  get served(): Served {
    return this.#served!;
  }

  /** Last lines of the process, if it has ended by itself. */
  get whyEnded(): string | undefined {
    return this.#node!.isRunning ? undefined : this.#node!.lastLines;
  }

  async start(): Promise<void> {
    const node = new Program(NODE, [], { VOUCH_DATA_DIR: this.dataDir, ...this.settings });
    this.#node = node;
    this.#served = await node.message<Served>();
  }

  /** Kills whatever runs. */
  async kill(): Promise<void> {
    await Promise.all([this.#node?.kill(), this.#tool?.kill()]);
    this.#tool = undefined;
    this.alarms.push(...(this.#node?.lines.filter(isAlarmLine) ?? []));
  }

  /** Starts the tool, which does nothing before `rotate`. Returns its process id. */
  async prepareTool(): Promise<number> {
    this.#tool = new Program(TOOL, [this.dataDir], {});
    await this.#tool.message();
    return this.#tool.pid;
  }

  async rotate(): Promise<void> {
    if (this.#tool === undefined) await this.prepareTool();
    const tool = this.#tool!;
    tool.send('rotate');
    await tool.done().finally(() => {
      this.#tool = undefined;
    });
  }
}

const ERROR_LEVEL = 50;

function isAlarmLine(line: string): boolean {
  if (!line.startsWith('{')) return false;
  const { level, msg } = JSON.parse(line) as { level: number; msg: string };
  return isAlarm(msg, level >= ERROR_LEVEL);
}
