/** What the clients know of one collection, to choose what to ask next: a guess, that no check relies on. */
import type { SeededRandom } from '../random.js';

const FORGOTTEN_KEPT = 32;

export class KnownRecords {
  readonly #live: number[] = [];
  readonly #gone: number[] = [];
  /** The latest sequence that an answer told. */
  sequence = 0;

  get size(): number {
    return this.#live.length;
  }

  inserted(ids: readonly number[]): void {
    this.#live.push(...ids);
  }

  gone(id: number): void {
    const at = this.#live.indexOf(id);
    if (at >= 0) this.#live.splice(at, 1);
    this.#gone.push(id);
    if (this.#gone.length > FORGOTTEN_KEPT) this.#gone.shift();
  }

  told(sequence: number): void {
    this.sequence = Math.max(this.sequence, sequence);
  }

  /** Mostly one that should be there, now and then one that is gone, or was never there. */
  pick(random: SeededRandom): number {
    const chance = random.int(20);
    if (chance === 0 && this.#gone.length > 0) return random.pick(this.#gone);
    if (chance === 1 || this.#live.length === 0) return 1 + random.int(this.#live.length + 10);
    return random.pick(this.#live);
  }
}
