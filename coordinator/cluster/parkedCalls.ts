/**
 * Calls that have certainly had no effect and will be sent again: while a collection changes hands, nobody takes them for
 * a moment. One timer a collection, whatever number of its calls wait; what was learnt meanwhile wakes them earlier.
 */
const WAIT_MIN_MS = 10;
const WAIT_MAX_MS = 100;

interface Parked<C> {
  calls: C[];
  waitMs: number;
  timer: NodeJS.Timeout | undefined;
}

export class ParkedCalls<C> {
  readonly #parked = new Map<number, Parked<C>>();
  #count = 0;

  /** `wake` is given what waited, in order. */
  constructor(private readonly wake: (collectionId: number, calls: readonly C[]) => void) {}

  get count(): number {
    return this.#count;
  }

  add(collectionId: number, call: C): void {
    let parked = this.#parked.get(collectionId);
    if (parked === undefined) {
      parked = { calls: [], waitMs: WAIT_MIN_MS, timer: undefined };
      this.#parked.set(collectionId, parked);
    }
    parked.calls.push(call);
    this.#count++;
    if (parked.timer !== undefined) return;
    parked.timer = setTimeout(() => this.#wakeAfter(collectionId), parked.waitMs);
    parked.waitMs = Math.min(2 * parked.waitMs, WAIT_MAX_MS);
  }

  collectionIds(): Iterable<number> {
    return this.#parked.keys();
  }

  /** Returns what waits, which waits no longer. */
  take(collectionId: number): readonly C[] {
    const parked = this.#parked.get(collectionId);
    if (parked === undefined) return [];
    clearTimeout(parked.timer);
    parked.timer = undefined;
    const { calls } = parked;
    parked.calls = [];
    this.#count -= calls.length;
    return calls;
  }

  /** Its calls are answered, or given up: the next trouble with it is a new one. */
  settled(collectionId: number): void {
    const parked = this.#parked.get(collectionId);
    if (parked !== undefined && parked.calls.length === 0) this.#parked.delete(collectionId);
  }

  #wakeAfter(collectionId: number): void {
    this.wake(collectionId, this.take(collectionId));
  }
}
