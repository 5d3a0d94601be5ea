const PAGE_SHIFT = 12;
const PAGE_IDS = 1 << PAGE_SHIFT;

/**
 * Ids, as bitmaps of 4,096 each: a set of a million grows without ever being rehashed, which would hold the event loop,
 * and one of a few takes half a KiB for each neighbourhood of ids.
 */
export class NodeSet {
  readonly #pages = new Map<number, Uint32Array>();

  /** False where it was there already. */
  add(id: number): boolean {
    const page = this.#page(id >>> PAGE_SHIFT);
    const at = (id % PAGE_IDS) >>> 5;
    const bit = 1 << (id & 31);
    if ((page[at]! & bit) !== 0) return false;
    page[at]! |= bit;
    return true;
  }

  #page(number: number): Uint32Array {
    let page = this.#pages.get(number);
    if (page === undefined) {
      page = new Uint32Array(PAGE_IDS / 32);
      this.#pages.set(number, page);
    }
    return page;
  }
}
