/** A set of sequences, as intervals: consecutive ones take the place of one. */
export class IntervalSet {
  // Ascending and disjoint intervals; `to` is exclusive.
  readonly #from: number[] = [];
  readonly #to: number[] = [];

  /** Makes the set from what `numbers()` returned. */
  static of(numbers: ArrayLike<number>): IntervalSet {
    const set = new IntervalSet();
    for (let i = 0; i < numbers.length; i += 2) {
      set.#from.push(numbers[i]!);
      set.#to.push(numbers[i + 1]!);
    }
    return set;
  }

  /** Adds `from` up to below `to`. Costs a binary search, and a move of the later intervals. */
  add(from: number, to: number): void {
    if (from >= to) return;
    const first = firstNotBelow(this.#to, from);
    let end = first;
    let [low, high] = [from, to];
    while (end < this.#from.length && this.#from[end]! <= to) {
      low = Math.min(low, this.#from[end]!);
      high = Math.max(high, this.#to[end]!);
      end++;
    }
    this.#from.splice(first, end - first, low);
    this.#to.splice(first, end - first, high);
  }

  has(sequence: number): boolean {
    const at = firstNotBelow(this.#to, sequence + 1);
    return at < this.#from.length && this.#from[at]! <= sequence;
  }

  /** `from` and `to` of each interval, as `of` takes them. */
  numbers(): Float64Array {
    return Float64Array.from({ length: 2 * this.#from.length }, (_, i) =>
      i % 2 === 0 ? this.#from[i >> 1]! : this.#to[i >> 1]!,
    );
  }
}

/** The first index of ascending numbers whose value is `bound` or more. */
function firstNotBelow(ascending: readonly number[], bound: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
