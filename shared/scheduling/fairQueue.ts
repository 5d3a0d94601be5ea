/**
 * A queue that is fair between groups (projects), and between the keys of a group (collections); the items of a key keep their
 * order. Each key's wait has its own bound, see `waitBound.ts`: a flood delays only its own key.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.js';
import { assertWhole } from '../model/whole.js';
import { WaitBound } from './waitBound.js';

/** Largest number of items of one key. */
const WAITING_MAX = 4_096;
/** Largest number of keys whose costs are remembered for their next items. */
const BOUNDS_MAX = 10_000;

interface Entry<T> {
  readonly item: T;
  readonly units: number;
  readonly ahead: number;
  readonly arrivedMs: number;
}

interface Line<T> {
  /** Oldest first; entries before `next` have left the queue. */
  entries: Entry<T>[];
  next: number;
  units: number;
  /** When the line was last empty. */
  readonly sinceMs: number;
}

interface Load {
  /** The cost of the item. */
  readonly units: number;
  /** Units of the key that have left the queue and are not done. */
  readonly atWork: number;
}

/** An item of a queue that counts items, and none of whose key is at work. */
export const ONE_UNIT: Load = { units: 1, atWork: 0 };

export class FairQueue<K extends string | number, T> {
  /** The lines that are not empty. */
  readonly #lines = new Map<K, Line<T>>();
  /** The lines by group: the first key of the first group is next. */
  readonly #groups = new Map<string | K, Map<K, Line<T>>>();
  readonly #bounds = new LRUCache<K, WaitBound>({ max: BOUNDS_MAX });
  #length = 0;

  constructor(
    private readonly maxQueueWaitMs: number,
    private readonly clock: Clock,
  ) {}

  get length(): number {
    return this.#length;
  }

  /** The items of one key. */
  lengthOf(key: K): number {
    const line = this.#lines.get(key);
    return line === undefined ? 0 : line.entries.length - line.next;
  }

  /** Whether another item of the key may wait. `atWork`: units of the key that have left the queue and are not done. */
  admits(key: K, atWork: number): boolean {
    const line = this.#lines.get(key);
    if (line === undefined) return atWork === 0 || this.#boundOf(key).admits(atWork, 0);
    if (this.lengthOf(key) >= WAITING_MAX) return false;
    return this.#boundOf(key).admits(line.units + atWork, this.clock.monotonicMs() - line.sinceMs);
  }

  /** Adds an item that `admits` allows. `group`: one value for all items of the key. */
  push(key: K, item: T, { units, atWork }: Load, group: string | K = key): void {
    assertWhole(units);
    assertWhole(atWork);
    const arrivedMs = this.clock.monotonicMs();
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { entries: [], next: 0, units: 0, sinceMs: arrivedMs };
      this.#lines.set(key, line);
      const lines = this.#groups.get(group);
      if (lines === undefined) this.#groups.set(group, new Map([[key, line]]));
      else lines.set(key, line);
    }
    line.entries.push({ item, units, ahead: line.units + atWork, arrivedMs });
    line.units += units;
    this.#length++;
  }

  /** Takes the next item of a key for which `mayBegin` is true. Calls `onLate` for items that have waited too long. */
  take(
    mayBegin: (key: K, group: string | K) => boolean = () => true,
    onLate: (item: T) => void = () => undefined,
  ): T | undefined {
    for (const [group, lines] of this.#groups)
      for (const [key, line] of lines) {
        if (!mayBegin(key, group)) continue;
        const item = this.#first(key, line, onLate);
        this.#turned(group, lines, key, line);
        if (item !== undefined) return item;
      }
    return undefined;
  }

  /** Removes a cancelled item. Returns false if it is not in the queue. */
  remove(key: K, item: T): boolean {
    const line = this.#lines.get(key);
    const at = line?.entries.findIndex((entry, index) => index >= line.next && entry.item === item) ?? -1;
    if (line === undefined || at < 0) return false;
    const [{ units }] = line.entries.splice(at, 1) as [Entry<T>];
    line.units -= units;
    this.#length--;
    if (line.next < line.entries.length) return true;
    this.#lines.delete(key);
    for (const [group, lines] of this.#groups) if (lines.delete(key) && lines.size === 0) this.#groups.delete(group);
    return true;
  }

  /** Removes and returns all items. */
  clear(): T[] {
    const items = [...this.#lines.values()].flatMap(({ entries, next }) => entries.slice(next).map(({ item }) => item));
    this.#lines.clear();
    this.#groups.clear();
    this.#length = 0;
    return items;
  }

  /** Moves the key and its group to the end, or removes empty ones. */
  #turned(group: string | K, lines: Map<K, Line<T>>, key: K, line: Line<T>): void {
    lines.delete(key);
    this.#groups.delete(group);
    if (line.next < line.entries.length) lines.set(key, line);
    else this.#lines.delete(key);
    if (lines.size > 0) this.#groups.set(group, lines);
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
      bound = new WaitBound(this.maxQueueWaitMs);
      this.#bounds.set(key, bound);
    }
    return bound;
  }
}
