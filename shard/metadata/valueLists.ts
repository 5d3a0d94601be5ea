import { PagedInts } from '../kernel/pagedInts.js';

/**
 * Lists of values of many slots, at 8 bytes a value. A `Set` per slot takes some 30, and leaves garbage as it grows.
 */
export class ValueLists {
  /** Two integers per list: its length, and 1 + the place of its last item. */
  readonly #lists = new PagedInts();
  /** Items of all lists: each a value, and 1 + the place of the previous item of its list. */
  readonly #items = new PagedInts();

  /** Returns the number of an empty list. */
  newList(): number {
    const list = this.#lists.push(0);
    this.#lists.push(0);
    return list;
  }

  lengthOf(list: number): number {
    return this.#lists.get(list);
  }

  add(list: number, value: number): void {
    const item = this.#items.push(value);
    this.#items.push(this.#lists.get(list + 1));
    this.#lists.set(list, this.#lists.get(list) + 1);
    this.#lists.set(list + 1, item + 1);
  }

  /** Calls `visit` with each value of the list, last one first. */
  forEach(list: number, visit: (value: number) => void): void {
    for (let next = this.#lists.get(list + 1); next > 0; next = this.#items.get(next)) visit(this.#items.get(next - 1));
  }
}
