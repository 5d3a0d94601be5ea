/**
 * Turns of the event loop for work in slices: one slice a turn, projects in turn. Otherwise the slices of many pieces of work
 * would add up to one long turn, most of it for one project.
 */
export class FairTurns {
  /** Project → its waiting slices; the first project is next. */
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
