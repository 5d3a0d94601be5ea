/** Change → replaced leaf, by the sequence of the write: three f64 and a hash of 32 bytes per change. */
import { HASH_BYTES } from '../../shared/limits.js';
import { ChunkedRows } from './chunkedRows.js';

export interface LeafChange {
  /** Sequence of the write that made the change. */
  readonly sequence: number;
  readonly index: number;
  /** Number of leaves at that time. */
  readonly leaves: number;
  readonly oldLeaf: Uint8Array;
}

/** The leaves that changes replaced, 56 bytes a change. Past states of the tree are computed from them. */
export class LeafJournal {
  /** Rows of sequence, leaf index, and number of leaves. */
  readonly #changes = new ChunkedRows<Float64Array>((elements) => new Float64Array(elements), 3);
  readonly #oldLeaves = new ChunkedRows<Uint8Array>((elements) => new Uint8Array(elements), HASH_BYTES);

  get length(): number {
    return this.#changes.length;
  }

  /** Adds a change, with a copy of the leaf. Sequences ascend strictly. */
  add({ sequence, index, leaves, oldLeaf }: LeafChange): void {
    const { length } = this;
    if (length > 0 && sequence <= this.#sequenceAt(length - 1))
      throw new RangeError(`change ${sequence} comes after change ${this.#sequenceAt(length - 1)}`);
    this.#changes.append(Float64Array.of(sequence, index, leaves));
    this.#oldLeaves.append(oldLeaf);
  }

  /** Returns undefined if the write `sequence` changed no leaf. */
  changeOf(sequence: number): LeafChange | undefined {
    const place = this.firstSince(sequence);
    return place < this.length && this.#sequenceAt(place) === sequence ? this.at(place) : undefined;
  }

  /** Returns the place in the journal of the first change with `sequence` or later. */
  firstSince(sequence: number): number {
    return this.#changes.firstNotBelow(0, sequence);
  }

  /** Returns a copy of the change at this place. */
  at(place: number): LeafChange {
    const [sequence, index, leaves] = this.#changes.at(place) as unknown as [number, number, number];
    return { sequence, index, leaves, oldLeaf: this.oldLeafAt(place).slice() };
  }

  /** Returns the index of the leaf that the change at this place replaced. */
  indexAt(place: number): number {
    return this.#changes.at(place)[1]!;
  }

  /** Returns a view of the replaced leaf. */
  oldLeafAt(place: number): Uint8Array {
    return this.#oldLeaves.at(place);
  }

  #sequenceAt(place: number): number {
    return this.#changes.at(place)[0]!;
  }
}
