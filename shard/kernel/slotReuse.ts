/**
 * When a released slot may be used again: not before every scan that began earlier has ended, since such a scan still
 * reads the row. Scans and releases are put in one order by a counter.
 */
export class SlotReuse {
  readonly #free: number[] = [];
  /** Released slots that a scan may still read → the number of the newest such scan. Oldest release first. */
  readonly #waiting = new Map<number, number>();
  /** Numbers of the scans under way, oldest first. */
  readonly #scans = new Set<number>();
  #newestScan = 0;

  /** `erase` is called with a slot when nothing reads it any more, before it is given out again. */
  constructor(private readonly erase: (slot: number) => void) {}

  /** Slots that can be taken now. */
  get freeCount(): number {
    return this.#free.length;
  }

  get isRead(): boolean {
    return this.#scans.size > 0;
  }

  take(): number | undefined {
    return this.#free.pop();
  }

  release(slot: number): void {
    if (this.#waiting.has(slot)) throw new Error(`slot ${slot} was released before`);
    if (this.isRead) this.#waiting.set(slot, this.#newestScan);
    else this.#reclaim(slot);
  }

  /** Returns the scan's number, to be given to `endScan` once. */
  beginScan(): number {
    this.#scans.add(++this.#newestScan);
    return this.#newestScan;
  }

  endScan(scan: number): void {
    this.#scans.delete(scan);
    const [oldest = Number.POSITIVE_INFINITY] = this.#scans;
    for (const [slot, newestReader] of this.#waiting) {
      if (newestReader >= oldest) return;
      this.#waiting.delete(slot);
      this.#reclaim(slot);
    }
  }

  #reclaim(slot: number): void {
    this.erase(slot);
    this.#free.push(slot);
  }
}
