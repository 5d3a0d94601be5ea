/**
 * Keys by the time at which they are due: records that expire, and collections that have such records. A binary heap of
 * keys, with the place of each, so that a change costs log2(n). Keys are record or collection ids. A time of 0 means
 * that the key is not there. Without any key it takes no memory; each takes about 16 bytes.
 */
import { Column } from '../kernel/column.js';

export class Expiries {
  readonly #times = new Column(0);
  /** Key by place; the first is due first. Places from `#size` on are free. */
  readonly #heap = new Column(0);
  /** Place by key. */
  readonly #places = new Column(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Time of the first key; +∞ without keys. */
  get nextMs(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#timeAt(0);
  }

  /** Whether the time of a key has come. */
  isDue(nowMs: number): boolean {
    return this.nextMs <= nowMs;
  }

  /** Returns undefined if the key has no time. */
  of(key: number): number | undefined {
    return this.#times.get(key) || undefined;
  }

  /** Gives a key a time of at least 1, or takes it away. */
  set(key: number, timeMs: number | undefined): void {
    if (this.#times.get(key) !== 0) this.#remove(key);
    if (timeMs === undefined) return;
    this.#times.set(key, timeMs);
    this.#size++;
    this.#rise(key, this.#size - 1);
  }

  /**
   * Yields the keys whose time is at or before `upToMs`, in the order of their times. No key may change meanwhile. Costs
   * log2 of the keys yielded so far for each.
   */
  *due(upToMs: number): Generator<number, void, undefined> {
    if (this.nextMs > upToMs) return;
    // The places that may come next: a heap of places, ordered like their keys.
    const next = [0];
    while (next.length > 0) {
      const place = this.#takeFirst(next);
      yield this.#heap.get(place);
      for (const child of [2 * place + 1, 2 * place + 2])
        if (child < this.#size && this.#timeAt(child) <= upToMs) this.#insert(next, child);
    }
  }

  #timeAt(place: number): number {
    return this.#times.get(this.#heap.get(place));
  }

  #remove(key: number): void {
    const place = this.#places.get(key);
    const last = this.#heap.get(--this.#size);
    this.#heap.set(this.#size, 0);
    this.#times.set(key, 0);
    if (last === key) return;
    if (place > 0 && this.#times.get(last) < this.#timeAt((place - 1) >>> 1)) this.#rise(last, place);
    else this.#sink(last, place);
  }

  #put(key: number, place: number): void {
    this.#heap.set(place, key);
    this.#places.set(key, place);
  }

  /** Puts a key at a free place, or above it. */
  #rise(key: number, place: number): void {
    const timeMs = this.#times.get(key);
    let at = place;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (this.#timeAt(parent) <= timeMs) break;
      this.#put(this.#heap.get(parent), at);
      at = parent;
    }
    this.#put(key, at);
  }

  /** Puts a key at a free place, or below it. */
  #sink(key: number, place: number): void {
    const timeMs = this.#times.get(key);
    let at = place;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && this.#timeAt(child + 1) < this.#timeAt(child)) child++;
      if (this.#timeAt(child) >= timeMs) break;
      this.#put(this.#heap.get(child), at);
      at = child;
    }
    this.#put(key, at);
  }

  #insert(places: number[], place: number): void {
    const timeMs = this.#timeAt(place);
    let at = places.push(place) - 1;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (this.#timeAt(places[parent]!) <= timeMs) break;
      places[at] = places[parent]!;
      at = parent;
    }
    places[at] = place;
  }

  #takeFirst(places: number[]): number {
    const first = places[0]!;
    const last = places.pop()!;
    if (places.length === 0) return first;
    const timeMs = this.#timeAt(last);
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= places.length) break;
      if (child + 1 < places.length && this.#timeAt(places[child + 1]!) < this.#timeAt(places[child]!)) child++;
      if (this.#timeAt(places[child]!) >= timeMs) break;
      places[at] = places[child]!;
      at = child;
    }
    places[at] = last;
    return first;
  }
}
