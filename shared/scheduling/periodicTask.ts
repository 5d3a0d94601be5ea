import { SharedRun } from './sharedRun.js';

/** Repeats work in rounds, one at a time: a long round delays the next. */
export class PeriodicTask {
  #timer: NodeJS.Timeout | undefined;
  readonly #rounds: SharedRun<void>;

  /** `work` handles its own failures. */
  constructor(
    work: () => Promise<void>,
    private readonly everyMs: number,
  ) {
    this.#rounds = new SharedRun(work);
  }

  /** Starts; the first round runs after `everyMs`. The timer does not keep the process alive. */
  start(): void {
    this.#timer = setInterval(() => void this.now(), this.everyMs).unref();
  }

  /** Runs a round after the one in progress; resolves when it is done. */
  now(): Promise<void> {
    return this.#rounds.next();
  }

  /** Starts no more rounds; resolves when the one in progress is done. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#rounds.idle();
  }
}
