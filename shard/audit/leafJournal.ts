import { HASH_BYTES } from '../../shared/limits.js';
import { ChunkedRows } from './chunkedRows.js';

/** What one change did. */
export interface LeafChange {
  readonly index: number;
  /** Leaves there were. */
  readonly leaves: number;
  /** A copy. */
  readonly oldLeaf: Uint8Array;
}

/** What each change of a leaf has replaced, 56 bytes a change, so that past states of the tree can be told. */
export class LeafJournal {
  /** Sequence, leaf index, and leaves there were. */
  readonly #changes = new ChunkedRows<Float64Array>((elements) => new Float64Array(elements), 3);
  readonly #oldLeaves = new ChunkedRows<Uint8Array>((elements) => new Uint8Array(elements), HASH_BYTES);

  get length(): number {
    return this.#changes.length;
  }

  /** Sequences come in ascending order, each once. */
  add(sequence: number, index: number, leaves: number, oldLeaf: Uint8Array): void {
    const { length } = this.#changes;
    if (length > 0 && sequence <= this.#sequenceAt(length - 1))
      throw new RangeError(`change ${sequence} comes after change ${this.#sequenceAt(length - 1)}`);
    this.#changes.append(Float64Array.of(sequence, index, leaves));
    this.#oldLeaves.append(oldLeaf);
  }

  /** Undefined where the write `sequence` changed no leaf. */
  changeOf(sequence: number): LeafChange | undefined {
    const at = this.firstSince(sequence);
    if (at === this.length || this.#sequenceAt(at) !== sequence) return undefined;
    const [, index, leaves] = this.#changes.at(at);
    return { index: index as number, leaves: leaves as number, oldLeaf: this.oldLeafAt(at).slice() };
  }

  /** The place in the journal of the first change with `sequence` or later. */
  firstSince(sequence: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#sequenceAt(middle) < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The change at this place, and its sequence. */
  at(place: number): LeafChange & { readonly sequence: number } {
    const [sequence, index, leaves] = this.#changes.at(place);
    return {
      sequence: sequence as number,
      index: index as number,
      leaves: leaves as number,
      oldLeaf: this.oldLeafAt(place).slice(),
    };
  }

  /** Of the change at this place in the journal. */
  indexAt(place: number): number {
    return this.#changes.at(place)[1] as number;
  }

  /** A view. */
  oldLeafAt(place: number): Uint8Array {
    return this.#oldLeaves.at(place);
  }

  #sequenceAt(place: number): number {
    return this.#changes.at(place)[0] as number;
  }
}
