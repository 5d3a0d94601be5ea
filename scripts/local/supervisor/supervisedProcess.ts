/**
 * A supervised process, which is kept running.
 *
 * ```
 *   stopped ──start()──▶ starting ──its ready line──▶ running
 *   starting, running ──it ends──▶ waiting ──after a delay──▶ starting
 *   starting, running ──stop()──▶ stopping ──it ends──▶ stopped
 *   waiting ──stop()──▶ stopped
 *   starting, running ──it ends, and is not started again──▶ stopped
 * ```
 *
 * The first start can fail. A process that ends later is restarted until it is stopped, unless its plan excludes that.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { type Clock, systemClock } from '../../../shared/clock.js';
import { BACKOFF, nextDelayMs } from '../../../shared/scheduling/retry.js';
import { readLines } from './lines.js';

export interface ProcessPlan {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Whether this line of output means that the process serves. */
  readonly isReady: (line: string) => boolean;
  /** Longest time of the first start. */
  readonly startWithinMs: number;
  /** Longest time of a stop before the process is killed. */
  readonly stopWithinMs: number;
  /** First delay before a restart; undefined: it is not restarted. */
  readonly restartAfterMs: number | undefined;
}

export interface ProcessObserver {
  line(plan: ProcessPlan, line: string): void;
  /** The process has started or ended. */
  changed(): void;
  /** `restartInMs` undefined: it is not restarted. */
  ended(plan: ProcessPlan, how: string, restartInMs: number | undefined): void;
  /** It serves again after it had ended. */
  recovered(plan: ProcessPlan): void;
}

type State =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'starting' | 'running'; readonly child: ChildProcess; readonly sinceMs: number }
  | { readonly kind: 'stopping'; readonly child: ChildProcess }
  | { readonly kind: 'waiting'; readonly timer: NodeJS.Timeout };

/** After a run of this length the delays restart with the first. */
const WELL_AFTER_MS = 10_000;

/** `previousMs`: the delay before the run that has ended after `ranMs`, if there was one. */
export function nextWaitMs(
  previousMs: number | undefined,
  ranMs: number,
  firstMs: number = BACKOFF.process.firstMs,
): number {
  const longestMs = Math.max(BACKOFF.process.longestMs, firstMs);
  return nextDelayMs({ firstMs, longestMs }, ranMs >= WELL_AFTER_MS ? undefined : previousMs);
}

export class SupervisedProcess {
  #state: State = { kind: 'stopped' };
  /** Settles the first start. */
  #firstStart: { resolve(): void; reject(error: Error): void } | undefined;
  #waitMs: number | undefined;

  constructor(
    readonly plan: ProcessPlan,
    private readonly observer: ProcessObserver,
    private readonly clock: Clock = systemClock,
  ) {}

  get pid(): number | undefined {
    return 'child' in this.#state ? this.#state.child.pid : undefined;
  }

  /** Resolves when the process serves. Throws if it ends earlier, or takes too long. */
  async start(): Promise<void> {
    const { name, startWithinMs } = this.plan;
    let deadline: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#firstStart = { resolve, reject };
        const late = new Error(`${name} did not get ready within ${startWithinMs / 1000} s`);
        deadline = setTimeout(() => reject(late), startWithinMs);
        this.#spawn();
      });
    } finally {
      clearTimeout(deadline);
      this.#firstStart = undefined;
    }
  }

  /** Asks the process to end, kills it after a while, and resolves when it is gone. */
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
    // Give the process its own session, so that Ctrl-C reaches only the supervisor, which stops its processes in order.
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    this.#state = { kind: 'starting', child, sinceMs: this.clock.monotonicMs() };
    for (const output of [child.stdout, child.stderr]) readLines(output, (line) => this.#onLine(child, line));
    child.once('error', (error) => {
      if (child.pid === undefined) this.#onEnd(child, `could not be started: ${error.message}`);
    });
    child.once('close', (code, signal) =>
      this.#onEnd(child, signal ? `ended by ${signal}` : `ended with code ${code}`),
    );
    this.observer.changed();
  }

  #onLine(child: ChildProcess, line: string): void {
    this.observer.line(this.plan, line);
    const state = this.#state;
    if (state.kind !== 'starting' || state.child !== child || !this.plan.isReady(line)) return;
    this.#state = { ...state, kind: 'running' };
    if (this.#firstStart) this.#firstStart.resolve();
    else this.observer.recovered(this.plan);
  }

  #onEnd(child: ChildProcess, how: string): void {
    const state = this.#state;
    if (!('child' in state) || state.child !== child) return;
    const { name, restartAfterMs } = this.plan;
    if (state.kind === 'stopping' || this.#firstStart) {
      this.#state = { kind: 'stopped' };
      this.#firstStart?.reject(new Error(`${name} ${how}`));
      this.observer.changed();
      return;
    }
    let waitMs: number | undefined;
    if (restartAfterMs === undefined) this.#state = { kind: 'stopped' };
    else {
      waitMs = nextWaitMs(this.#waitMs, this.clock.monotonicMs() - state.sinceMs, restartAfterMs);
      this.#waitMs = waitMs;
      this.#state = { kind: 'waiting', timer: setTimeout(() => this.#spawn(), waitMs) };
    }
    this.observer.changed();
    this.observer.ended(this.plan, how, waitMs);
  }
}
