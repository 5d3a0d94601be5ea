/** The lengths of vectors that are loaded as they are: where these differ, so do the orders of distance and of cosine. */
import { FIXED_ONE } from '../../shared/limits.js';

/** The longest is so many times the shortest. */
const DIFFERENT = 1.05;

export class Lengths {
  #leastSquare = Number.POSITIVE_INFINITY;
  #mostSquare = 0;

  /** `vector`: Q16.16. Ignores a vector of zeros, which has no direction. */
  add({ buffer, byteOffset, length }: Uint8Array): void {
    const components = new Int32Array(buffer, byteOffset, length / Int32Array.BYTES_PER_ELEMENT);
    let square = 0;
    for (let i = 0; i < components.length; i++) square += components[i]! * components[i]!;
    if (square === 0) return;
    if (square < this.#leastSquare) this.#leastSquare = square;
    if (square > this.#mostSquare) this.#mostSquare = square;
  }

  /** A line for people if the lengths differ by more than 5%. */
  get remark(): string | undefined {
    const [least, most] = [Math.sqrt(this.#leastSquare), Math.sqrt(this.#mostSquare)];
    if (!(most > DIFFERENT * least)) return undefined;
    return (
      `vectors are ${shown(least)} to ${shown(most)} long, so distances depend on length; for cosine load them into a ` +
      'collection that --create --normalise makes'
    );
  }
}

const shown = (length: number): string =>
  (length / FIXED_ONE).toLocaleString('en-US', { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
