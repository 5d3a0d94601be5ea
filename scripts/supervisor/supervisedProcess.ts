/**
 * One process that is kept running.
 *
 *              start()                its ready line
 *   stopped ────────────▶ starting ──────────────────▶ running
 *      ▲                   ▲   │ ends                     │ ends
 *      │          a while  │   ▼                          │
 *      │                  waiting ◀───────────────────────┘
 *      └──── stopping ◀──── stop(), from any state
 *
 * Only a start that was asked for can fail; a process that ends later is started again until somebody stops it, or stays
 * stopped where its plan says so.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { type Clock, systemClock } from '../../shared/clock.js';
import { nextWaitMs } from './backoff.js';
import { readLines } from './lines.js';

export interface ProcessPlan {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** True for the line of output by which the process says that it serves. */
  readonly isReady: (line: string) => boolean;
  /** How long its first start may take. */
  readonly startWithinMs: number;
  /** How long it may take to stop before it is killed. */
  readonly stopWithinMs: number;
  /** How long it stays ended before it is started again, at the first time; undefined: for good. */
  readonly restartAfterMs: number | undefined;
}

export interface ProcessObserver {
  line(plan: ProcessPlan, line: string): void;
  /** A process id came or went. */
  changed(): void;
  /** `restartInMs` undefined: it is not started again. */
  ended(plan: ProcessPlan, how: string, restartInMs: number | undefined): void;
  /** It serves again after it had ended. */
  recovered(plan: ProcessPlan): void;
}

type State =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'starting' | 'running'; readonly child: ChildProcess; readonly sinceMs: number }
  | { readonly kind: 'stopping'; readonly child: ChildProcess }
  | { readonly kind: 'waiting'; readonly timer: NodeJS.Timeout };

interface FirstStart {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class SupervisedProcess {
  readonly plan: ProcessPlan;
  readonly #observer: ProcessObserver;
  readonly #clock: Clock;
  #state: State = { kind: 'stopped' };
  #firstStart: FirstStart | undefined;
  #waitMs: number | undefined;

  constructor(plan: ProcessPlan, observer: ProcessObserver, clock: Clock = systemClock) {
    this.plan = plan;
    this.#observer = observer;
    this.#clock = clock;
  }

  get pid(): number | undefined {
    return 'child' in this.#state ? this.#state.child.pid : undefined;
  }

  /** Resolves when the process serves; throws when it ends before, or takes too long. */
  async start(): Promise<void> {
    const { name, startWithinMs } = this.plan;
    let deadline: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#firstStart = { resolve, reject };
        deadline = setTimeout(
          () => reject(new Error(`${name} did not get ready within ${startWithinMs / 1000} s`)),
          startWithinMs,
        );
        this.#spawn();
      });
    } finally {
      clearTimeout(deadline);
      this.#firstStart = undefined;
    }
  }

  /** Asks the process to end, kills it when it does not in time, and resolves when it is gone. */
  async stop(): Promise<void> {
    const state = this.#state;
    this.#firstStart?.reject(new Error(`${this.plan.name} was stopped`));
    if (state.kind === 'waiting') clearTimeout(state.timer);
    if (!('child' in state)) {
      this.#state = { kind: 'stopped' };
      return;
    }
    const { child } = state;
    this.#state = { kind: 'stopping', child };
    const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
    child.kill('SIGTERM');
    const kill = setTimeout(() => child.kill('SIGKILL'), this.plan.stopWithinMs);
    await gone;
    clearTimeout(kill);
  }

  kill(): void {
    if ('child' in this.#state) this.#state.child.kill('SIGKILL');
  }

  #spawn(): void {
    const { program, args, env } = this.plan;
    // Of its own session: Ctrl-C in the terminal reaches the supervisor alone, which stops its processes in order.
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    this.#state = { kind: 'starting', child, sinceMs: this.#clock.monotonicMs() };
    readLines(child.stdout, (line) => this.#onLine(child, line));
    readLines(child.stderr, (line) => this.#onLine(child, line));
    child.once('error', (error) => {
      if (child.pid === undefined) this.#onEnd(child, `could not be started: ${error.message}`);
    });
    child.once('close', (code, signal) =>
      this.#onEnd(child, signal ? `ended by ${signal}` : `ended with code ${code}`),
    );
    this.#observer.changed();
  }

  #onLine(child: ChildProcess, line: string): void {
    this.#observer.line(this.plan, line);
    const state = this.#state;
    if (state.kind !== 'starting' || state.child !== child || !this.plan.isReady(line)) return;
    this.#state = { ...state, kind: 'running' };
    if (this.#firstStart) this.#firstStart.resolve();
    else this.#observer.recovered(this.plan);
  }

  #onEnd(child: ChildProcess, how: string): void {
    const state = this.#state;
    if (!('child' in state) || state.child !== child) return;
    if (state.kind === 'stopping' || this.#firstStart) {
      this.#state = { kind: 'stopped' };
      this.#firstStart?.reject(new Error(`${this.plan.name} ${how}`));
      this.#observer.changed();
      return;
    }
    const waitMs = this.#waitAfter(this.#clock.monotonicMs() - state.sinceMs);
    this.#state =
      waitMs === undefined ? { kind: 'stopped' } : { kind: 'waiting', timer: setTimeout(() => this.#spawn(), waitMs) };
    this.#observer.changed();
    this.#observer.ended(this.plan, how, waitMs);
  }

  #waitAfter(ranMs: number): number | undefined {
    const { restartAfterMs } = this.plan;
    if (restartAfterMs !== undefined) this.#waitMs = nextWaitMs(this.#waitMs, ranMs, restartAfterMs);
    return restartAfterMs === undefined ? undefined : this.#waitMs;
  }
}
