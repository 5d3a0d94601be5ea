/** Work that is done again and again, a round at a time: one that takes long delays the next and never meets it. */
export class Rounds {
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();

  /** `work` handles its own failures. */
  constructor(
    private readonly work: () => Promise<void>,
    private readonly everyMs: number,
  ) {}

  /** The first round comes after `everyMs`. */
  start(): void {
    this.#timer = setInterval(() => {
      this.#round = this.#round.then(this.work);
    }, this.everyMs);
  }

  /** Begins no round any more; resolves when the one under way is done. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }
}
