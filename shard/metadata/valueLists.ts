import { PagedInts } from '../kernel/pagedInts.js';

/** The lists of values of many slots. They take 8 bytes a value, where a `Set` for each slot takes some 30 and garbage as it grows. */
export class ValueLists {
  readonly #lengths = new PagedInts();
  /** The last item of each list, plus 1. */
  readonly #lasts = new PagedInts();
  readonly #values = new PagedInts();
  /** The item before each item in its list, plus 1. */
  readonly #befores = new PagedInts();

  /** Returns the number of an empty list. */
  newList(): number {
    this.#lasts.push(0);
    return this.#lengths.push(0);
  }

  lengthOf(list: number): number {
    return this.#lengths.get(list);
  }

  add(list: number, value: number): void {
    this.#befores.push(this.#lasts.get(list));
    this.#lasts.set(list, this.#values.push(value) + 1);
    this.#lengths.set(list, this.#lengths.get(list) + 1);
  }

  /** Calls `visit` with each value of the list, the last one first. */
  forEach(list: number, visit: (value: number) => void): void {
    for (let item = this.#lasts.get(list); item > 0; item = this.#befores.get(item - 1))
      visit(this.#values.get(item - 1));
  }
}
