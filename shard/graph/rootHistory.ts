import { EMPTY_HASH } from '../../shared/hashing/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { ChunkedRows } from '../audit/chunkedRows.js';
import { partition } from '../kernel/partition.js';

/** Earlier roots of the graph by the write that made them, 40 bytes each. */
export class RootHistory {
  readonly #sequences = new ChunkedRows<Float64Array>((elements) => new Float64Array(elements), 1);
  readonly #roots = new ChunkedRows<Uint8Array>((elements) => new Uint8Array(elements), HASH_BYTES);

  /** Adds a root. Sequences ascend. */
  add(sequence: number, root: Uint8Array): void {
    this.#sequences.append(Float64Array.of(sequence));
    this.#roots.append(root);
  }

  get length(): number {
    return this.#sequences.length;
  }

  /** Returns a view of the root at this place, and the write that made it. */
  entry(place: number): { readonly sequence: number; readonly root: Uint8Array } {
    return { sequence: this.#sequences.at(place)[0] as number, root: this.#roots.at(place) };
  }

  /** Returns a view of the root after the write `sequence`; the empty hash before the first. */
  at(sequence: number): Uint8Array {
    const count = partition(this.length, (place) => (this.#sequences.at(place)[0] as number) <= sequence);
    return count === 0 ? EMPTY_HASH : this.#roots.at(count - 1);
  }
}
