/**
 * Collections that are being opened; each takes a core. Those that somebody waits for are opened at once. Those that are to be
 * followed wait for their turn, a few at a time, and none is begun while somebody waits for another.
 */
const BACKGROUND_AT_ONCE = 2;

export class Openings {
  #asked = 0;
  #background = 0;
  readonly #waiting: (() => void)[] = [];

  async asked<T>(open: () => Promise<T>): Promise<T> {
    this.#asked++;
    try {
      return await open();
    } finally {
      this.#asked--;
      this.#begin();
    }
  }

  async inBackground(open: () => Promise<void>): Promise<void> {
    const turn = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#begin();
    await turn;
    try {
      await open();
    } finally {
      this.#background--;
      this.#begin();
    }
  }

  #begin(): void {
    while (this.#asked === 0 && this.#background < BACKGROUND_AT_ONCE) {
      const begin = this.#waiting.shift();
      if (begin === undefined) return;
      this.#background++;
      begin();
    }
  }
}
