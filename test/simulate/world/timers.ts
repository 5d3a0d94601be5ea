/** Timers of a simulated world, with the interface of Node's. */
import type { Task } from './heap.js';
import { currentWorld, type World } from './world.js';

type Callback = (...args: unknown[]) => void;

const LONGEST_MS = 2 ** 31 - 1;

/** Delay as Node computes it: at least 1 ms, and 1 ms if it is too long. */
const delayOf = (ms: unknown): number => {
  const number = Number(ms);
  return number >= 1 && number <= LONGEST_MS ? Math.trunc(number) : 1;
};

/** Keeping a process alive has no meaning here: a simulated process ends when its world ends it. */
abstract class Handle {
  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

export class SimulatedTimer extends Handle {
  #task: Task | undefined;
  #isOver = false;

  constructor(
    private readonly world: World,
    private readonly run: () => void,
    private readonly delayMs: number,
    private readonly repeats: boolean,
  ) {
    super();
    this.#start();
  }

  refresh(): this {
    if (this.#isOver && !this.repeats) this.#isOver = false;
    this.#cancel();
    this.#start();
    return this;
  }

  close(): this {
    this.#isOver = true;
    this.#cancel();
    return this;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #cancel(): void {
    if (this.#task !== undefined) this.#task.run = undefined;
  }

  #start(): void {
    this.#task = this.world.at(this.world.party, this.delayMs, 'timer', () => {
      if (this.repeats) this.#start();
      else this.#isOver = true;
      this.run();
    });
  }
}

export class SimulatedImmediate extends Handle {
  readonly #task: Task;

  constructor(world: World, run: () => void) {
    super();
    this.#task = world.immediate(world.party, run);
  }

  close(): void {
    this.#task.run = undefined;
  }
}

const real = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };

type RealTimer = Parameters<typeof clearTimeout>[0];

const clear =
  (otherwise: (timer: RealTimer) => void) =>
  (timer: unknown): void => {
    if (timer instanceof SimulatedTimer || timer instanceof SimulatedImmediate) timer.close();
    else otherwise(timer as RealTimer);
  };

const timer =
  (otherwise: typeof setTimeout | typeof setInterval, repeats: boolean) =>
  (run: Callback, ms?: number, ...args: unknown[]): unknown => {
    const world = currentWorld();
    if (world === undefined) return otherwise(run, ms, ...args);
    return new SimulatedTimer(world, args.length === 0 ? run : () => run(...args), delayOf(ms), repeats);
  };

/** The functions of `node:timers`, which are also global. Outside of a world they are Node's own. */
export const simulatedTimers = {
  setTimeout: timer(real.setTimeout, false),
  setInterval: timer(real.setInterval, true),
  setImmediate: (run: Callback, ...args: unknown[]): unknown => {
    const world = currentWorld();
    if (world === undefined) return real.setImmediate(run, ...args);
    return new SimulatedImmediate(world, args.length === 0 ? run : () => run(...args));
  },
  clearTimeout: clear(real.clearTimeout),
  clearInterval: clear(real.clearInterval),
  clearImmediate: clear((immediate) => real.clearImmediate(immediate as unknown as NodeJS.Immediate)),
};

interface WaitOptions {
  readonly signal?: AbortSignal;
}

/** The functions of `node:timers/promises` that the product uses. */
export const simulatedWaits = (otherwise: {
  setTimeout: (ms?: number, value?: unknown, options?: WaitOptions) => Promise<unknown>;
  setImmediate: (value?: unknown, options?: WaitOptions) => Promise<unknown>;
}) => ({
  setTimeout: (ms?: number, value?: unknown, options?: WaitOptions): Promise<unknown> =>
    currentWorld() === undefined
      ? otherwise.setTimeout(ms, value, options)
      : waited((run) => simulatedTimers.setTimeout(run, ms), value, options),
  setImmediate: (value?: unknown, options?: WaitOptions): Promise<unknown> =>
    currentWorld() === undefined
      ? otherwise.setImmediate(value, options)
      : waited((run) => simulatedTimers.setImmediate(run), value, options),
});

function waited(start: (run: Callback) => unknown, value: unknown, { signal }: WaitOptions = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const refuse = (): void => reject(abortError(signal?.reason));
    if (signal?.aborted) {
      refuse();
      return;
    }
    const onAbort = (): void => {
      simulatedTimers.clearTimeout(started);
      refuse();
    };
    const started = start(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve(value);
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

const abortError = (cause: unknown): Error =>
  Object.assign(new Error('The operation was aborted', { cause }), { name: 'AbortError', code: 'ABORT_ERR' });
