/**
 * The openings of collections, each of which takes a core. A collection that a call needs is opened at once. Collections to
 * follow are opened a few at a time, and none begins while a call waits for an opening.
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
