/**
 * Reuses released slots once every scan that began before the release has ended, since such a scan may read the row. A
 * counter orders scans and releases.
 */
export class SlotReuse {
  readonly #free: number[] = [];
  /** Released slots that a scan may still read → number of the newest such scan. Oldest release first. */
  readonly #released = new Map<number, number>();
  /** Numbers of the running scans, oldest first. */
  readonly #scans = new Set<number>();
  #newestScan = 0;

  /** `erase`: called with a slot when no scan reads it any more, before the slot is reused. */
  constructor(private readonly erase: (slot: number) => void) {}

  /** Number of slots that can be taken now. */
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
    if (this.#released.has(slot)) throw new Error(`slot ${slot} was released before`);
    if (this.isRead) this.#released.set(slot, this.#newestScan);
    else this.#reclaim(slot);
  }

  /** Returns the scan's number. Pass it to `endScan` once. */
  beginScan(): number {
    this.#scans.add(++this.#newestScan);
    return this.#newestScan;
  }

  endScan(scan: number): void {
    this.#scans.delete(scan);
    const [oldest = Number.POSITIVE_INFINITY] = this.#scans;
    for (const [slot, newestReader] of this.#released) {
      if (newestReader >= oldest) return;
      this.#released.delete(slot);
      this.#reclaim(slot);
    }
  }

  #reclaim(slot: number): void {
    this.erase(slot);
    this.#free.push(slot);
  }
}
