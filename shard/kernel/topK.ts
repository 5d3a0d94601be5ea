/**
 * The `k` items with the smallest keys of those that are offered: a binary heap with the last of them on top. Of equal
 * keys the smaller `tie` comes first; where those are equal too, `isBefore` decides.
 */
export class TopK {
  readonly #items: Uint32Array;
  readonly #keys: Float64Array;
  readonly #ties: Float64Array;
  #count = 0;

  constructor(
    private readonly k: number,
    private readonly isBefore: (item: number, other: number) => boolean = () => false,
  ) {
    this.#items = new Uint32Array(k);
    this.#keys = new Float64Array(k);
    this.#ties = new Float64Array(k);
  }

  /** An item with a larger key is not taken. Infinity while fewer than `k` were. */
  get worst(): number {
    return this.#count < this.k ? Number.POSITIVE_INFINITY : this.#keys[0]!;
  }

  /** An item with the key `worst` and a larger tie is not taken. */
  get worstTie(): number {
    return this.#count < this.k ? Number.POSITIVE_INFINITY : this.#ties[0]!;
  }

  offer(item: number, key: number, tie: number): void {
    if (this.#count < this.k) this.#rise(item, key, tie);
    else if (this.k > 0 && this.#precedes(item, key, tie, 0)) this.#sink(this.#count, item, key, tie);
  }

  /** The items in order, with their keys and ties. Nothing can be offered afterwards. */
  sorted(): { readonly items: Uint32Array; readonly keys: Float64Array; readonly ties: Float64Array } {
    const [items, keys, ties] = [this.#items, this.#keys, this.#ties];
    const count = this.#count;
    for (let last = count - 1; last > 0; last--) {
      const [item, key, tie] = [items[last]!, keys[last]!, ties[last]!];
      this.#copy(last, 0);
      this.#sink(last, item, key, tie);
    }
    return { items: items.subarray(0, count), keys: keys.subarray(0, count), ties: ties.subarray(0, count) };
  }

  /** Whether an item comes before the one at a place of the heap. */
  #precedes(item: number, key: number, tie: number, at: number): boolean {
    if (key !== this.#keys[at]!) return key < this.#keys[at]!;
    if (tie !== this.#ties[at]!) return tie < this.#ties[at]!;
    return this.isBefore(item, this.#items[at]!);
  }

  #put(at: number, item: number, key: number, tie: number): void {
    this.#items[at] = item;
    this.#keys[at] = key;
    this.#ties[at] = tie;
  }

  #copy(to: number, from: number): void {
    this.#put(to, this.#items[from]!, this.#keys[from]!, this.#ties[from]!);
  }

  #rise(item: number, key: number, tie: number): void {
    let at = this.#count++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#precedes(item, key, tie, parent)) break;
      this.#copy(at, parent);
      at = parent;
    }
    this.#put(at, item, key, tie);
  }

  /** Puts an item in the place of the last of the first `count`. */
  #sink(count: number, item: number, key: number, tie: number): void {
    let at = 0;
    for (let child = 1; child < count; child = 2 * at + 1) {
      const right = child + 1;
      if (right < count && this.#precedes(this.#items[child]!, this.#keys[child]!, this.#ties[child]!, right))
        child = right;
      if (!this.#precedes(item, key, tie, child)) break;
      this.#copy(at, child);
      at = child;
    }
    this.#put(at, item, key, tie);
  }
}
