/** Work that is done again and again, a round at a time: one that takes long delays the next and never meets it. */
export class Rounds {
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  /** The next round, while it has not begun: whoever asks for one meanwhile gets it too, so no more than one ever waits. */
  #next: Promise<void> | undefined;

  /** `work` handles its own failures. */
  constructor(
    private readonly work: () => Promise<void>,
    private readonly everyMs: number,
  ) {}

  /** The first round comes after `everyMs`. */
  start(): void {
    this.#timer = setInterval(() => void this.now(), this.everyMs);
  }

  /** One more, as soon as the one under way is done; resolves when it is. */
  now(): Promise<void> {
    this.#next ??= this.#round.then(() => {
      this.#next = undefined;
      return this.work();
    });
    this.#round = this.#next;
    return this.#round;
  }

  /** Begins no round any more; resolves when the one under way is done. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }
}
