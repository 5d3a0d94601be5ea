/**
 * Reuses released slots, and frees memory, once every scan that may read them has ended. A counter orders scans and
 * releases.
 */

/** A step that waits for scans: those with numbers above `since`, up to `until`. */
interface Waiting {
  readonly since: number;
  readonly until: number;
  readonly act: () => void;
}

export class SlotReuse {
  readonly #free: number[] = [];
  /** Released slots that a scan may still read → number of the newest such scan. Oldest release first. */
  readonly #released = new Map<number, number>();
  /** Numbers of the running scans, oldest first; true if the scan reads only places that it knew when it began. */
  readonly #scans = new Map<number, boolean>();
  #waiting: Waiting[] = [];
  #newestScan = 0;

  /**
   * `erase`: called with a slot when no scan reads it any more, before the slot is reused. Returns whether it can be
   * reused now; otherwise the slot arrives later, by `offer`.
   */
  constructor(private readonly erase: (slot: number) => boolean) {}

  /** Number of slots that can be taken now. */
  get freeCount(): number {
    return this.#free.length;
  }

  get isRead(): boolean {
    return this.#scans.size > 0;
  }

  /** Number of the newest scan: every later one has a larger number. */
  get newestScan(): number {
    return this.#newestScan;
  }

  take(): number | undefined {
    return this.#free.pop();
  }

  /** Adds slots that were erased before and can be reused now. */
  offer(slots: readonly number[]): void {
    for (const slot of slots) this.#free.push(slot);
  }

  release(slot: number): void {
    if (this.#released.has(slot)) throw new Error(`slot ${slot} was released before`);
    if (this.isRead) this.#released.set(slot, this.#newestScan);
    else this.#reclaim(slot);
  }

  /**
   * Calls `act` once no running scan can read a place that existed since scan number `since`: now, or at the end of
   * one of them.
   */
  whenUnread(since: number, act: () => void): void {
    const waiting = { since, until: this.#newestScan, act };
    if (this.#isReadBy(waiting)) this.#waiting.push(waiting);
    else act();
  }

  /** Returns the scan's number. Pass it to `endScan` once. `isFrozen`: it reads only places that it knows now. */
  beginScan(isFrozen = false): number {
    this.#scans.set(++this.#newestScan, isFrozen);
    return this.#newestScan;
  }

  endScan(scan: number): void {
    this.#scans.delete(scan);
    this.#endWaits();
    const [oldest = Number.POSITIVE_INFINITY] = this.#scans.keys();
    for (const [slot, newestReader] of this.#released) {
      if (newestReader >= oldest) return;
      this.#released.delete(slot);
      this.#reclaim(slot);
    }
  }

  #endWaits(): void {
    if (this.#waiting.length === 0) return;
    const ended = this.#waiting.filter((waiting) => !this.#isReadBy(waiting));
    this.#waiting = this.#waiting.filter((waiting) => !ended.includes(waiting));
    for (const { act } of ended) act();
  }

  #isReadBy({ since, until }: Waiting): boolean {
    for (const [scan, isFrozen] of this.#scans) if (scan <= until && (!isFrozen || scan > since)) return true;
    return false;
  }

  #reclaim(slot: number): void {
    if (this.erase(slot)) this.#free.push(slot);
  }
}
