import { EMPTY_HASH } from '../../shared/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { ChunkedRows } from '../audit/chunkedRows.js';

/** Roots the graph once had, 40 bytes each, by the write that made them. */
export class RootHistory {
  readonly #sequences = new ChunkedRows<Float64Array>((elements) => new Float64Array(elements), 1);
  readonly #roots = new ChunkedRows<Uint8Array>((elements) => new Uint8Array(elements), HASH_BYTES);

  /** Sequences ascend. */
  add(sequence: number, root: Uint8Array): void {
    this.#sequences.append(Float64Array.of(sequence));
    this.#roots.append(root);
  }

  get length(): number {
    return this.#sequences.length;
  }

  /** The root at this place, and the write that made it. A view. */
  entry(place: number): { readonly sequence: number; readonly root: Uint8Array } {
    return { sequence: this.#sequences.at(place)[0] as number, root: this.#roots.at(place) };
  }

  /** The newest root that is not younger than the write `sequence`, as a view; the empty one before the first. */
  at(sequence: number): Uint8Array {
    let low = 0;
    let high = this.#sequences.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sequences.at(middle)[0] as number) <= sequence) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? EMPTY_HASH : this.#roots.at(low - 1);
  }
}
