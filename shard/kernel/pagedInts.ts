const PAGE_SHIFT = 12;
const PAGE = 1 << PAGE_SHIFT;

/**
 * 32-bit integers by number, 0 where none was set. They lie in pages that are made when they are needed: to grow copies nothing,
 * and the garbage collector visits a page instead of each integer.
 */
export class PagedInts {
  readonly #pages: Int32Array[] = [];
  #length = 0;

  /** One more than the last number that was pushed. */
  get length(): number {
    return this.#length;
  }

  get(number: number): number {
    const at = number >>> PAGE_SHIFT;
    return at < this.#pages.length ? this.#pages[at]![number & (PAGE - 1)]! : 0;
  }

  set(number: number, value: number): void {
    const at = number >>> PAGE_SHIFT;
    while (this.#pages.length <= at) this.#pages.push(new Int32Array(PAGE));
    this.#pages[at]![number & (PAGE - 1)] = value;
  }

  /** Sets the next number, and returns it. */
  push(value: number): number {
    this.set(this.#length, value);
    return this.#length++;
  }
}
