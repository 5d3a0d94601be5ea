/** Collections that are opened to be followed, a few at a time: nobody waits for them, and each takes a core. */
const AT_ONCE = 2;

export class Openings {
  #busy = 0;
  readonly #waiting: (() => void)[] = [];

  async run(open: () => Promise<void>): Promise<void> {
    if (this.#busy < AT_ONCE) this.#busy++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      await open();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#busy--;
      else next();
    }
  }
}
