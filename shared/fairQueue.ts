/**
 * Work that waits for its turn: in the order it came among the work of one key (a collection, a project), and in turn
 * between keys. Bounded by time, each key's by itself: see `waitBound.ts`. Whoever floods it waits for itself alone.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.js';
import { WaitBound } from './waitBound.js';

/** Of one key, whatever is foreseen. */
const WAITING_MAX = 4_096;
/** What the work of a key costs is still the best guess when it comes again. */
const BOUNDS_MAX = 10_000;

interface Entry<T> {
  readonly item: T;
  readonly units: number;
  readonly ahead: number;
  readonly arrivedMs: number;
}

interface Line<T> {
  /** Oldest first; those before `next` have left. */
  entries: Entry<T>[];
  next: number;
  units: number;
  /** It has not been empty since then. */
  readonly sinceMs: number;
}

export class FairQueue<K extends string | number, T> {
  /** Of the keys that something waits of; the first is next. */
  readonly #lines = new Map<K, Line<T>>();
  readonly #bounds = new LRUCache<K, WaitBound>({ max: BOUNDS_MAX });
  #length = 0;

  constructor(
    private readonly queueMs: number,
    private readonly clock: Clock,
  ) {}

  get length(): number {
    return this.#length;
  }

  /** Whether more of the key may wait now. `atWork`: units of the key that have left the queue and are not done. */
  admits(key: K, atWork: number): boolean {
    const line = this.#lines.get(key);
    if (line === undefined) return atWork === 0 || this.#boundOf(key).admits(atWork, 0);
    if (line.entries.length - line.next >= WAITING_MAX) return false;
    return this.#boundOf(key).admits(line.units + atWork, this.clock.monotonicMs() - line.sinceMs);
  }

  /** Where `admits` has said so. `units`: of the work, so that its length can be foreseen. */
  push(key: K, item: T, units: number, atWork: number): void {
    const arrivedMs = this.clock.monotonicMs();
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { entries: [], next: 0, units: 0, sinceMs: arrivedMs };
      this.#lines.set(key, line);
    }
    line.entries.push({ item, units, ahead: line.units + atWork, arrivedMs });
    line.units += units;
    this.#length++;
  }

  /** The next in turn, of a key that `mayBegin`. What has waited too long leaves the queue with it, through `onLate`. */
  take(mayBegin: (key: K) => boolean, onLate: (item: T) => void): T | undefined {
    for (const [key, line] of this.#lines) {
      if (!mayBegin(key)) continue;
      this.#lines.delete(key);
      const item = this.#first(key, line, onLate);
      if (line.next < line.entries.length) this.#lines.set(key, line);
      if (item !== undefined) return item;
    }
    return undefined;
  }

  /** All that waits, which then waits no more. */
  clear(): T[] {
    const items = [...this.#lines.values()].flatMap(({ entries, next }) => entries.slice(next).map(({ item }) => item));
    this.#lines.clear();
    this.#length = 0;
    return items;
  }

  #first(key: K, line: Line<T>, onLate: (item: T) => void): T | undefined {
    const bound = this.#boundOf(key);
    const nowMs = this.clock.monotonicMs();
    let first: T | undefined;
    while (first === undefined && line.next < line.entries.length) {
      const { item, units, ahead, arrivedMs } = line.entries[line.next++] as Entry<T>;
      line.units -= units;
      this.#length--;
      if (bound.through(ahead, nowMs - arrivedMs)) first = item;
      else onLate(item);
    }
    if (line.next > line.entries.length >> 1) {
      line.entries = line.entries.slice(line.next);
      line.next = 0;
    }
    return first;
  }

  #boundOf(key: K): WaitBound {
    let bound = this.#bounds.get(key);
    if (bound === undefined) {
      bound = new WaitBound(this.queueMs);
      this.#bounds.set(key, bound);
    }
    return bound;
  }
}
