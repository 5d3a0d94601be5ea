/** The best `n` of what is offered, in a heap with the worst of them on top. `isBetter`: a strict order. */
export class Best {
  readonly #heap: number[] = [];

  constructor(
    private readonly n: number,
    private readonly isBetter: (item: number, other: number) => boolean,
  ) {}

  /** The one that must be beaten; undefined while there is room. */
  get worst(): number | undefined {
    return this.#heap.length < this.n ? undefined : this.#heap[0];
  }

  offer(item: number): void {
    const heap = this.#heap;
    if (heap.length < this.n) this.#rise(heap.push(item) - 1, item);
    else if (heap.length > 0 && this.isBetter(item, heap[0]!)) this.#sink(item);
  }

  /** Best first. Nothing can be offered afterwards. */
  sorted(): Uint32Array {
    return Uint32Array.from(this.#heap).sort((a, b) => (this.isBetter(a, b) ? -1 : 1));
  }

  #rise(from: number, item: number): void {
    const heap = this.#heap;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.isBetter(item, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = item;
  }

  /** Puts `item` in the place of the worst. */
  #sink(item: number): void {
    const heap = this.#heap;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      const right = child + 1;
      const worse = right < heap.length && this.isBetter(heap[child]!, heap[right]!) ? right : child;
      if (!this.isBetter(item, heap[worse]!)) break;
      heap[at] = heap[worse]!;
      at = worse;
    }
    heap[at] = item;
  }
}
