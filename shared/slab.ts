/** Large enough for many pieces, and small enough to be short-lived. */
const SLAB_BYTES = 65_536;

/** Pieces of zeros, taken from common memory: an ArrayBuffer of its own, of some hundred bytes, costs as much as filling it. */
export class Slab {
  #bytes = new Uint8Array();
  #at = 0;

  take(length: number): Uint8Array {
    if (this.#at + length > this.#bytes.length) {
      this.#bytes = new Uint8Array(Math.max(SLAB_BYTES, length));
      this.#at = 0;
    }
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
