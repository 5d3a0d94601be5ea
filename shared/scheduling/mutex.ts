/** Runs work one piece at a time, in the order of the calls. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();
  #unfinished = 0;

  /** Whether work runs or waits. */
  get isBusy(): boolean {
    return this.#unfinished > 0;
  }

  /** Runs `work` when all earlier work has ended; settles like it. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.#unfinished++;
    const turn = this.#last.then(work).finally(() => {
      this.#unfinished--;
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Resolves when all work so far has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** Runs the work of each key one piece at a time, and the work of different keys concurrently. */
export class KeyedMutex<K> {
  readonly #last = new Map<K, Promise<unknown>>();

  /** Runs `work` when all earlier work of the key has ended; settles like it. */
  run<T>(key: K, work: () => Promise<T>): Promise<T> {
    return this.runAll([key], work);
  }

  /** Runs `work` when all earlier work of each of the keys has ended; settles like it. */
  async runAll<T>(keys: readonly K[], work: () => Promise<T>): Promise<T> {
    const earlier = keys.map((key) => this.#last.get(key)).filter((turn) => turn !== undefined);
    const turn = Promise.all(earlier).then(work);
    const last = turn.catch(() => undefined);
    for (const key of keys) this.#last.set(key, last);
    try {
      return await turn;
    } finally {
      for (const key of keys) if (this.#last.get(key) === last) this.#last.delete(key);
    }
  }

  /** Resolves when all work of the key so far has ended. */
  async idle(key: K): Promise<void> {
    await this.#last.get(key);
  }

  /** Resolves when all work so far has ended. */
  async allIdle(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
