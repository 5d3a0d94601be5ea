/** A seeded random generator, so that builds repeat: mulberry32, 32 bits of state. */
export class SeededNumbers {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer in [0, n). */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  /** Draws `count` of the numbers and keeps their order (Knuth, TAOCP 2, 3.4.2, algorithm S). */
  sample(numbers: Uint32Array, count: number): Uint32Array {
    const chosen = new Uint32Array(Math.min(count, numbers.length));
    let taken = 0;
    for (let at = 0; taken < chosen.length; at++)
      if (this.next() * (numbers.length - at) < chosen.length - taken) chosen[taken++] = numbers[at]!;
    return chosen;
  }
}
