/**
 * Compares real time, as the clients saw it, with the order of the log. A call that was answered before another began
 * comes first in the log. No read shows a state from before one that any client had seen when the read began.
 */
import type { CollectionLog } from './log.js';
import type { Violations } from './violations.js';
import type { Moments } from './writes.js';

/** For each event, no later event may have been answered before this one's call began. */
export function checkOrder({ collection, entries }: CollectionLog, moments: Moments, violations: Violations): void {
  const { beganMs, answeredMs, calls } = moments;
  let earliest = entries.length;
  for (let sequence = entries.length - 1; sequence > 0; sequence--) {
    if (answeredMs[earliest]! < beganMs[sequence]!) {
      const what = `event ${earliest} was answered before the call behind event ${sequence} began`;
      const involved = [calls[sequence], calls[earliest]].filter((call) => call !== undefined);
      violations.add('out of order', collection, what, ...involved);
    }
    if (answeredMs[sequence]! < answeredMs[earliest]!) earliest = sequence;
  }
}

/** Upper bound of the log at a moment: the last event before the first one whose call had not begun. */
export class Begun {
  /** For each event, the latest start of a call up to it. */
  readonly #latestMs: Float64Array;

  constructor({ beganMs }: Moments) {
    this.#latestMs = beganMs.slice();
    for (let i = 1; i < beganMs.length; i++) this.#latestMs[i] = Math.max(this.#latestMs[i]!, this.#latestMs[i - 1]!);
  }

  /** Latest state that an answer at `atMs` can show. */
  ceiling(atMs: number): number {
    let low = 0;
    let high = this.#latestMs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#latestMs[middle]! <= atMs) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** At `atMs`, some client knew that the log had reached `sequence`. */
export interface Shown {
  readonly atMs: number;
  readonly sequence: number;
}

/** States shown to any client by a moment. Moments may be queried in any order. */
export class ShownBy {
  readonly #atMs: number[] = [];
  readonly #highest: number[] = [];

  constructor(shown: readonly Shown[]) {
    let highest = 0;
    for (const { atMs, sequence } of [...shown].sort((a, b) => a.atMs - b.atMs)) {
      highest = Math.max(highest, sequence);
      this.#atMs.push(atMs);
      this.#highest.push(highest);
    }
  }

  /** Latest state shown before `atMs`. */
  floor(atMs: number): number {
    let low = 0;
    let high = this.#atMs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#atMs[middle]! < atMs) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : this.#highest[low - 1]!;
  }
}

/** States shown so far: moments must not decrease, while states are added. */
export class ShownSoFar {
  /** Heap, earliest first, of states shown at or after the last queried moment. */
  readonly #later: Shown[] = [];
  #highest = 0;

  add(shown: Shown): void {
    const heap = this.#later;
    let at = heap.length;
    heap.push(shown);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.atMs <= shown.atMs) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = shown;
  }

  floor(atMs: number): number {
    while (this.#later.length > 0 && this.#later[0]!.atMs < atMs)
      this.#highest = Math.max(this.#highest, this.#takeEarliest().sequence);
    return this.#highest;
  }

  #takeEarliest(): Shown {
    const heap = this.#later;
    const earliest = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return earliest;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.atMs < heap[child]!.atMs) child++;
      if (heap[child]!.atMs >= last.atMs) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return earliest;
  }
}
