/**
 * Turns of the event loop for work in slices: one slice a turn, of the projects in turn. Slices of work that is not bounded in
 * number would add up to one long turn otherwise, and the work of one project would be most of it.
 */
export class FairTurns {
  /** By project; the first one is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isDue = false;

  /** Resolves when the next slice of the project may begin. */
  next(project: string): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(project);
      if (waiting === undefined) this.#waiting.set(project, [resolve]);
      else waiting.push(resolve);
      this.#look();
    });
  }

  #look(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#begin();
      if (this.#waiting.size > 0) this.#look();
    });
  }

  #begin(): void {
    for (const [project, waiting] of this.#waiting) {
      const begin = waiting.shift()!;
      this.#waiting.delete(project);
      if (waiting.length > 0) this.#waiting.set(project, waiting);
      begin();
      return;
    }
  }
}
