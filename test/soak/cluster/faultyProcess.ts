/** One process that is killed, stopped, frozen and restarted at will. An unrequested end is reported. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { guarded } from '../../../scripts/local/supervisor/guarded.js';
import { readLines } from '../../../scripts/local/supervisor/lines.js';
import type { ProcessPlan } from '../../../scripts/local/supervisor/supervisedProcess.js';

export interface ProcessEvents {
  /** Called with each line of its output. */
  line(line: string): void;
  /** Called when it had served and ended without an order. */
  crashed(name: string, how: string): void;
}

export class FaultyProcess {
  #child: ChildProcess | undefined;
  #ended: Promise<string> = Promise.resolve('not started');
  #serves = false;
  #isEnding = false;
  #lastLine = '';

  /** `plan` is read again at each start. */
  constructor(
    readonly name: string,
    private readonly plan: () => ProcessPlan,
    private readonly events: ProcessEvents,
  ) {}

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Resolves when it serves. Throws an Error if it ends before, or takes longer than its plan allows; by then it is
   * gone.
   */
  async start(): Promise<void> {
    const plan = this.plan();
    const { program, args, env } = plan;
    // A session of its own: Ctrl-C in the terminal reaches only the soak.
    const child = guarded(spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true }));
    this.#child = child;
    this.#serves = false;
    this.#isEnding = false;
    const ready = new Promise<void>((resolve) => {
      const onLine = (line: string): void => {
        this.events.line(line);
        this.#lastLine = line;
        if (plan.isReady(line)) resolve();
      };
      readLines(child.stdout, onLine);
      readLines(child.stderr, onLine);
    });
    child.once('error', () => {});
    this.#ended = once(child, 'close').then(([code, signal]) =>
      this.#onEnd(signal ? `by ${signal}` : `with code ${code}`),
    );
    await this.#untilReady(ready, plan.startWithinMs);
  }

  async kill(): Promise<void> {
    this.#end('SIGKILL');
    await this.#ended;
  }

  /** SIGTERM, and SIGKILL after `withinMs`. Resolves with the manner of its end. */
  async stop(withinMs: number): Promise<string> {
    this.#end('SIGTERM');
    const insist = setTimeout(() => this.#end('SIGKILL'), withinMs);
    const how = await this.#ended;
    clearTimeout(insist);
    return how;
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  #end(signal: NodeJS.Signals): void {
    this.#isEnding = true;
    this.#child?.kill(signal);
  }

  async #untilReady(ready: Promise<void>, withinMs: number): Promise<void> {
    let deadline: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      deadline = setTimeout(resolve, withinMs, `took longer than ${withinMs / 1000} s`);
    });
    const failure = await Promise.race([ready, this.#ended.then((how) => `ended ${how}`), late]);
    clearTimeout(deadline);
    if (failure === undefined) {
      this.#serves = true;
      return;
    }
    await this.kill();
    throw new Error(`${this.name} did not start: ${failure}; its last line: ${this.#lastLine}`);
  }

  #onEnd(how: string): string {
    this.#child = undefined;
    if (this.#serves && !this.#isEnding) this.events.crashed(this.name, how);
    this.#serves = false;
    return how;
  }
}
