/**
 * Turns of the event loop for work in slices: at most one slice a turn, projects in turn. Otherwise the slices of many pieces of
 * work would add up to one long turn, most of it for one project.
 *
 * A request takes several turns, and would wait for a slice in each. So the turns after other work has begun have no slice.
 */
import { worksBegun } from './currentWork.js';

/** Turns without a slice after other work has begun: its next steps run in them. */
const TURNS_OF_OTHERS = 2;
/** Largest number of turns for which a slice waits, so that work in slices continues beside any load. */
const WAITED_MAX = 4;

export class FairTurns {
  /** Project → its waiting slices; the first project is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isDue = false;
  /** `worksBegun` in the last turn. */
  #seen = worksBegun();
  /** Turns that are left to other work. */
  #left = 0;
  /** Turns for which the next slice has waited. */
  #waited = 0;

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
      if (!this.#isOfOthers()) this.#begin();
      if (this.#waiting.size > 0) this.#look();
    });
  }

  /** Whether this turn is left to other work. */
  #isOfOthers(): boolean {
    const begun = worksBegun();
    if (begun !== this.#seen) this.#left = TURNS_OF_OTHERS;
    this.#seen = begun;
    if (this.#left === 0 || this.#waited === WAITED_MAX) {
      this.#left = 0;
      this.#waited = 0;
      return false;
    }
    this.#left--;
    this.#waited++;
    return true;
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
