/** Repeatable work, one run at a time; callers that ask before a run begins share it. */
export class SharedRun<T> {
  #last: Promise<unknown> = Promise.resolve();
  /** The next run, until it begins. */
  #next: Promise<T> | undefined;

  constructor(private readonly work: () => Promise<T>) {}

  /** Settles like the first run that begins after this call. */
  next(): Promise<T> {
    this.#next ??= this.#begin();
    return this.#next;
  }

  /** Resolves when every run so far has ended. */
  async idle(): Promise<void> {
    await this.#last.catch(() => undefined);
  }

  #begin(): Promise<T> {
    const begin = (): Promise<T> => {
      this.#next = undefined;
      return this.work();
    };
    const run = this.#last.then(begin, begin);
    this.#last = run;
    return run;
  }
}
