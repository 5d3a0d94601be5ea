/**
 * A set of sequences. Consecutive sequences are one interval. Intervals are in pages, so that adding them in any order
 * moves few of them.
 */

/** Ascending and disjoint intervals; `to` is exclusive. Never empty. */
interface Page {
  readonly from: number[];
  readonly to: number[];
}

/** Largest number of intervals of a page; a fuller page is divided. */
const PAGE_MAX = 256;

export class IntervalSet {
  readonly #pages: Page[] = [];

  /** Makes the set from a result of `numbers()`. */
  static of(numbers: ArrayLike<number>): IntervalSet {
    const set = new IntervalSet();
    for (let i = 0; i < numbers.length; i += PAGE_MAX) {
      const page: Page = { from: [], to: [] };
      for (let at = i; at < Math.min(i + PAGE_MAX, numbers.length); at += 2) {
        page.from.push(numbers[at]!);
        page.to.push(numbers[at + 1]!);
      }
      set.#pages.push(page);
    }
    return set;
  }

  /** Adds `from` to below `to`. Costs two binary searches, and a move of intervals within one page. */
  add(from: number, to: number): void {
    if (from >= to) return;
    const at = Math.min(this.#pageTo(from), this.#pages.length - 1);
    const page = this.#pages[at];
    if (page === undefined) {
      this.#pages.push({ from: [from], to: [to] });
      return;
    }
    const first = firstNotBelow(page.to.length, (i) => page.to[i]!, from);
    const end = firstBeyond(page, first, to);
    const low = Math.min(from, end === first ? from : page.from[first]!);
    let high = Math.max(to, end === first ? to : page.to[end - 1]!);
    if (end === page.to.length) high = this.#takeFollowing(at + 1, high);
    page.from.splice(first, end - first, low);
    page.to.splice(first, end - first, high);
    if (page.to.length > PAGE_MAX) this.#divide(at);
  }

  has(sequence: number): boolean {
    const page = this.#pages[this.#pageTo(sequence + 1)];
    if (page === undefined) return false;
    const at = firstNotBelow(page.to.length, (i) => page.to[i]!, sequence + 1);
    return page.from[at]! <= sequence;
  }

  /** Returns `from` and `to` of each interval, for `of`. */
  numbers(): Float64Array {
    const numbers = new Float64Array(2 * this.#pages.reduce((sum, { to }) => sum + to.length, 0));
    let at = 0;
    for (const { from, to } of this.#pages)
      for (let i = 0; i < to.length; i++) {
        numbers[at++] = from[i]!;
        numbers[at++] = to[i]!;
      }
    return numbers;
  }

  /** Returns the first page that ends at `bound` or later; the number of pages if all end earlier. */
  #pageTo(bound: number): number {
    return firstNotBelow(this.#pages.length, (i) => this.#pages[i]!.to.at(-1)!, bound);
  }

  /**
   * Removes the intervals from page `first` on that begin at `to` or earlier. Returns the end of the last one, at least
   * `to`.
   */
  #takeFollowing(first: number, to: number): number {
    let last = first;
    let high = to;
    for (; last < this.#pages.length; last++) {
      const page = this.#pages[last]!;
      const end = firstBeyond(page, 0, to);
      if (end > 0) high = Math.max(high, page.to[end - 1]!);
      if (end === page.to.length) continue;
      page.from.splice(0, end);
      page.to.splice(0, end);
      break;
    }
    this.#pages.splice(first, last - first);
    return high;
  }

  #divide(at: number): void {
    const { from, to } = this.#pages[at]!;
    this.#pages.splice(at + 1, 0, { from: from.splice(PAGE_MAX / 2), to: to.splice(PAGE_MAX / 2) });
  }
}

/** Returns the first interval from `first` on that begins beyond `to`. */
function firstBeyond({ from }: Page, first: number, to: number): number {
  let end = first;
  while (end < from.length && from[end]! <= to) end++;
  return end;
}

/** Returns the index of the first of `count` ascending numbers that is at least `bound`. */
function firstNotBelow(count: number, at: (index: number) => number, bound: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at(middle) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
