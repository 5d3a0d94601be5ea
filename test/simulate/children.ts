/** Child processes that simulate, each one cluster at a time. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { guarded } from '../../scripts/local/supervisor/guarded.js';
import type { FromChild, RunOrder } from './child.js';

export type ChildResult = Extract<FromChild, { result: unknown }>['result'];

const PROGRAM = fileURLToPath(new URL('./child.js', import.meta.url));
/**
 * Option for V8 in Node 20, which would spend a third of the time on optimizing: much code runs only a little. Later
 * versions have a faster compiler for that, and no such option.
 */
const OPTIMIZES_LATE = process.versions.node.startsWith('20.') ? ['--interrupt-budget=600000'] : [];
/** nats.js creates an error for every request; its stack would cost more than the request. */
const NODE_FLAGS = ['--stack-trace-limit=0', '--max-semi-space-size=64', ...OPTIMIZES_LATE];
/** Every simulated thread leaves a module behind, so a process with a larger heap is replaced. */
const HEAP_MAX_BYTES = 1_500_000_000;

export class Child {
  /** `program`: the `child.js` of another build. */
  constructor(private readonly program = PROGRAM) {}

  #process: ChildProcess | undefined;
  #heapBytes = 0;

  /** Resolves with the result of the run. Rejects if the child ends. */
  async run(order: RunOrder, onLine: (line: string) => void = () => undefined): Promise<ChildResult> {
    if (this.#heapBytes > HEAP_MAX_BYTES) await this.end();
    this.#process ??= this.#start();
    const child = this.#process;
    return new Promise<ChildResult>((resolve, reject) => {
      const settle = (work: () => void): void => {
        child.off('message', take).off('exit', ended);
        work();
      };
      const take = (message: FromChild): void => {
        if ('line' in message) onLine(message.line);
        else {
          this.#heapBytes = message.heapBytes;
          settle(() => resolve(message.result));
        }
      };
      const ended = (code: number | null, signal: string | null): void => {
        this.#process = undefined;
        settle(() => reject(new Error(`the process that simulated seed ${order.seed} ended with ${code ?? signal}`)));
      };
      child.on('message', take).on('exit', ended);
      child.send(order);
    });
  }

  async end(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    this.#heapBytes = 0;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  #start(): ChildProcess {
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const;
    const child = guarded(fork(this.program, { stdio: [...stdio], execArgv: NODE_FLAGS }));
    return child;
  }
}
