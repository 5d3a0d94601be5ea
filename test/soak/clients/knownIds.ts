/** Ids of which clients have been told, to choose what to ask about: a guess, that no check relies on. */
import type { SeededRandom } from '../random.js';

const FORGOTTEN_KEPT = 32;

export class KnownIds<Id extends number | string> {
  readonly #live: Id[] = [];
  readonly #gone: Id[] = [];

  /** Those that should be there. */
  get size(): number {
    return this.#live.length;
  }

  made(ids: readonly Id[]): void {
    this.#live.push(...ids);
  }

  /** One that was only guessed was not there before, and may come to be something else. */
  gone(id: Id): void {
    const at = this.#live.indexOf(id);
    if (at < 0) return;
    this.#live.splice(at, 1);
    this.#gone.push(id);
    if (this.#gone.length > FORGOTTEN_KEPT) this.#gone.shift();
  }

  /** Mostly one that should be there, now and then one that is gone, or another. */
  pick(random: SeededRandom, other: () => Id): Id {
    const chance = random.int(20);
    if (chance === 0 && this.#gone.length > 0) return random.pick(this.#gone);
    if (chance === 1 || this.#live.length === 0) return other();
    return random.pick(this.#live);
  }
}
