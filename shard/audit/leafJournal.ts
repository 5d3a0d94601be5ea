import { HASH_BYTES } from '../../shared/limits.js';
import { ChunkedRows } from './chunkedRows.js';
import type { Overrides } from './merkleTree.js';

/** What each change of a leaf has replaced, 48 bytes a change, so that past states of the tree can be told. */
export class LeafJournal {
  /** Sequence and leaf index. */
  readonly #changes = new ChunkedRows<Float64Array>((elements) => new Float64Array(elements), 2);
  readonly #oldLeaves = new ChunkedRows<Uint8Array>((elements) => new Uint8Array(elements), HASH_BYTES);

  /** Sequences come in ascending order, each once. */
  add(sequence: number, index: number, oldLeaf: Uint8Array): void {
    const { length } = this.#changes;
    if (length > 0 && sequence <= this.#sequenceAt(length - 1))
      throw new RangeError(`change ${sequence} comes after change ${this.#sequenceAt(length - 1)}`);
    this.#changes.append(Float64Array.of(sequence, index));
    this.#oldLeaves.append(oldLeaf);
  }

  /** The leaf that the change with this sequence replaced at `index`, copied; undefined where it changed no leaf. */
  replacedBy(sequence: number, index: number): Uint8Array | undefined {
    const at = this.#firstSince(sequence);
    if (at === this.#changes.length || this.#sequenceAt(at) !== sequence || this.#indexAt(at) !== index)
      return undefined;
    return this.#oldLeaves.at(at).slice();
  }

  /**
   * The leaves below `size` that were others before the changes with `sequence` and later, as they then were. Costs a
   * look at each such change. The leaves are views.
   */
  before(sequence: number, size: number): Overrides {
    const first = this.#firstSince(sequence);
    const oldest = new Map<number, number>();
    for (let at = this.#changes.length - 1; at >= first; at--) {
      const index = this.#indexAt(at);
      if (index < size) oldest.set(index, at);
    }
    const indices = [...oldest.keys()].sort((a, b) => a - b);
    return { indices, leaves: indices.map((index) => this.#oldLeaves.at(oldest.get(index) as number)) };
  }

  #firstSince(sequence: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#sequenceAt(middle) < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #sequenceAt(change: number): number {
    return this.#changes.at(change)[0] as number;
  }

  #indexAt(change: number): number {
    return this.#changes.at(change)[1] as number;
  }
}
