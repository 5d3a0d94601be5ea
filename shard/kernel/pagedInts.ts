const PAGE_SHIFT = 12;
const PAGE = 1 << PAGE_SHIFT;
const FIRST_LENGTH = 16;
const INT_BYTES = 4;

/**
 * 32-bit integers by number; 0 if none was set. Pages are created on demand. So growth copies at most one page, and the
 * garbage collector visits pages instead of integers.
 */
export class PagedInts {
  /** The first page grows with its integers; the others have full size. */
  readonly #pages: Int32Array[] = [];
  #length = 0;

  /** Number of integers: one more than the last pushed number. */
  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    const [first] = this.#pages;
    return first === undefined ? 0 : INT_BYTES * (first.length + (this.#pages.length - 1) * PAGE);
  }

  get(number: number): number {
    const page = this.#pages[number >>> PAGE_SHIFT];
    const at = number & (PAGE - 1);
    return page !== undefined && at < page.length ? page[at]! : 0;
  }

  set(number: number, value: number): void {
    const at = number >>> PAGE_SHIFT;
    if (number >= PAGE ? at >= this.#pages.length : number >= (this.#pages[0]?.length ?? 0)) this.#grow(number);
    this.#pages[at]![number & (PAGE - 1)] = value;
  }

  /** Sets the next integer, and returns its number. */
  push(value: number): number {
    this.set(this.#length, value);
    return this.#length++;
  }

  #grow(number: number): void {
    const first = this.#pages[0] ?? new Int32Array(0);
    const length = Math.min(Math.max(FIRST_LENGTH, number + 1, 2 * first.length), PAGE);
    if (length > first.length) {
      this.#pages[0] = new Int32Array(length);
      this.#pages[0].set(first);
    }
    while (this.#pages.length <= number >>> PAGE_SHIFT) this.#pages.push(new Int32Array(PAGE));
  }
}
