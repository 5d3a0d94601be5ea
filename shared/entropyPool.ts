import type { Entropy } from './clock.js';

/** A draw of this size costs little more than one of a few bytes. */
const BLOCK_BYTES = 4_096;

/** Random bytes drawn in blocks, since a draw from the system costs half as much as the encryption of a record. */
export class EntropyPool {
  #block: Uint8Array = new Uint8Array();
  #at = 0;

  constructor(private readonly entropy: Entropy) {}

  /** Fills `target`. No byte is given out twice, and none stays in the pool. */
  fill(target: Uint8Array): void {
    if (this.#at + target.length > this.#block.length) {
      this.#block = this.entropy(Math.max(BLOCK_BYTES, target.length));
      this.#at = 0;
    }
    const drawn = this.#block.subarray(this.#at, this.#at + target.length);
    this.#at += target.length;
    target.set(drawn);
    drawn.fill(0);
  }
}
