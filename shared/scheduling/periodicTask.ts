/** Repeats work in rounds, one at a time: a long round delays the next. */
export class PeriodicTask {
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  /** The next round, until it begins; callers of `now` share it, so no more than one waits. */
  #next: Promise<void> | undefined;

  /** `work` handles its own failures. */
  constructor(
    private readonly work: () => Promise<void>,
    private readonly everyMs: number,
  ) {}

  /** The first round comes after `everyMs`. The timer keeps no process alive. */
  start(): void {
    this.#timer = setInterval(() => void this.now(), this.everyMs).unref();
  }

  /** Runs a round after the one in progress; resolves when it is done. */
  now(): Promise<void> {
    this.#next ??= this.#round.then(() => {
      this.#next = undefined;
      return this.work();
    });
    this.#round = this.#next;
    return this.#round;
  }

  /** Starts no more rounds; resolves when the one in progress is done. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }
}
