/** Work done one piece at a time, in the order it was asked for. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as `work` does, which starts when all earlier work has ended, however it ended. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Resolves when all work asked for so far has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
