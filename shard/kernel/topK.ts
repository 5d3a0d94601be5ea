/** A bounded binary heap in typed arrays: 20 bytes an item, log2(k) steps for each item that enters. */

/** Memory of heaps: their items with keys and ties. */
export interface TopKRoom {
  readonly items: Uint32Array;
  readonly keys: Float64Array;
  readonly ties: Float64Array;
}

export const topKRoom = (count: number): TopKRoom => ({
  items: new Uint32Array(count),
  keys: new Float64Array(count),
  ties: new Float64Array(count),
});

/**
 * The `k` offered items with the smallest keys: a binary heap with the last of them on top. Of equal keys the smaller
 * `tie` comes first; of equal ties `isBefore` decides.
 */
export class TopK {
  readonly #items: Uint32Array;
  readonly #keys: Float64Array;
  readonly #ties: Float64Array;
  #count = 0;

  /** The heap uses `k` items of `room` from `first` on. Thousands of heaps share one room. */
  constructor(
    private readonly k: number,
    private readonly isBefore: (item: number, other: number) => boolean = () => false,
    room = topKRoom(k),
    private readonly first = 0,
  ) {
    this.#items = room.items;
    this.#keys = room.keys;
    this.#ties = room.ties;
  }

  get count(): number {
    return this.#count;
  }

  /** Key bound: an item with a larger key is dropped. Infinity while fewer than `k` items are kept. */
  get worst(): number {
    return this.#count < this.k ? Number.POSITIVE_INFINITY : this.#keys[this.first]!;
  }

  /** Tie bound: an item with the key `worst` and a larger tie is dropped. */
  get worstTie(): number {
    return this.#count < this.k ? Number.POSITIVE_INFINITY : this.#ties[this.first]!;
  }

  offer(item: number, key: number, tie: number): void {
    if (this.#count < this.k) this.#rise(item, key, tie);
    else if (this.k > 0 && this.#precedes(item, key, tie, 0)) this.#sink(this.#count, item, key, tie);
  }

  /** Returns the items in order, with their keys and ties. Ends the heap: offer nothing afterwards. */
  sorted(): TopKRoom {
    this.sort();
    const end = this.first + this.#count;
    return {
      items: this.#items.subarray(this.first, end),
      keys: this.#keys.subarray(this.first, end),
      ties: this.#ties.subarray(this.first, end),
    };
  }

  /** Sorts the items in the room. Ends the heap: offer nothing afterwards. */
  sort(): void {
    for (let last = this.#count - 1; last > 0; last--) {
      const at = this.first + last;
      const [item, key, tie] = [this.#items[at]!, this.#keys[at]!, this.#ties[at]!];
      this.#copy(last, 0);
      this.#sink(last, item, key, tie);
    }
  }

  /** Whether an item precedes the one at a place of the heap. */
  #precedes(item: number, key: number, tie: number, place: number): boolean {
    const at = this.first + place;
    if (key !== this.#keys[at]!) return key < this.#keys[at]!;
    if (tie !== this.#ties[at]!) return tie < this.#ties[at]!;
    return this.isBefore(item, this.#items[at]!);
  }

  #put(place: number, item: number, key: number, tie: number): void {
    const at = this.first + place;
    this.#items[at] = item;
    this.#keys[at] = key;
    this.#ties[at] = tie;
  }

  #copy(to: number, from: number): void {
    const at = this.first + from;
    this.#put(to, this.#items[at]!, this.#keys[at]!, this.#ties[at]!);
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

  /** Replaces the last of the first `count` items by another item. */
  #sink(count: number, item: number, key: number, tie: number): void {
    let at = 0;
    for (let child = 1; child < count; child = 2 * at + 1) {
      const right = child + 1;
      const left = this.first + child;
      if (right < count && this.#precedes(this.#items[left]!, this.#keys[left]!, this.#ties[left]!, right))
        child = right;
      if (!this.#precedes(item, key, tie, child)) break;
      this.#copy(at, child);
      at = child;
    }
    this.#put(at, item, key, tie);
  }
}
