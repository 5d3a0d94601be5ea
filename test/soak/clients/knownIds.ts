/** Ids from answers, to choose the next calls. They are guesses: no check relies on them. */
import type { SeededRandom } from '../random.js';

const FORGOTTEN_KEPT = 32;

export class KnownIds<Id extends number | string> {
  readonly #live: Id[] = [];
  readonly #gone: Id[] = [];
  /** Ids that no answer has named as existing. */
  readonly #guesses = new Set<Id>();

  /** Number of ids that should exist. */
  get size(): number {
    return this.#live.length;
  }

  made(ids: readonly Id[]): void {
    this.#live.push(...ids);
    for (const id of ids) this.#guesses.delete(id);
  }

  isGuess(id: Id): boolean {
    return this.#guesses.has(id);
  }

  gone(id: Id): void {
    const at = this.#live.indexOf(id);
    if (at >= 0) this.#live.splice(at, 1);
    else if (!this.#gone.includes(id)) this.#guesses.add(id);
    this.#gone.push(id);
    if (this.#gone.length > FORGOTTEN_KEPT) this.#gone.shift();
  }

  /** Mostly an id that should exist, sometimes a deleted one, or another. */
  pick(random: SeededRandom, other: () => Id): Id {
    const chance = random.int(20);
    if (chance === 0 && this.#gone.length > 0) return random.pick(this.#gone);
    if (chance === 1 || this.#live.length === 0) return other();
    return random.pick(this.#live);
  }
}
