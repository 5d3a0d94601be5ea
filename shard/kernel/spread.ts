/**
 * The numbers below `count`, each once, in an order in which neighbours come far apart: 0, then the middle, then the
 * quarters, … (van der Corput's sequence in base 2). A search for the nearest meets all parts of a collection early, and
 * so has a low bound early, though rows that come after one another are often alike.
 */
export class Spread {
  readonly #bits: number;
  /** How many of 2^bits were taken, those that are left out included. */
  #taken = 0;

  constructor(private readonly count: number) {
    this.#bits = 32 - Math.clz32(Math.max(count - 1, 0));
  }

  /** Undefined at the end. */
  next(): number | undefined {
    while (this.#taken < 2 ** this.#bits) {
      const number = reversed(this.#taken++, this.#bits);
      if (number < this.count) return number;
    }
    return undefined;
  }
}

/** The lowest `bits` in the opposite order. */
function reversed(number: number, bits: number): number {
  let from = number;
  let to = 0;
  for (let i = 0; i < bits; i++) {
    to = 2 * to + (from & 1);
    from >>>= 1;
  }
  return to;
}
