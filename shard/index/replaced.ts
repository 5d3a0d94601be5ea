/** The times at which records got other rows, in their order. */
export interface Replacements {
  /** The number of those up to an event. */
  replacementsAt(sequence: number): number;
  /** The number of all. */
  readonly replacements: number;
  /** The record of replacement `n`, counted from 0. */
  replacedRecord(n: number): number;
}

/** The records that were replaced after an event, also those that are while it is asked. */
export class ReplacedSince {
  readonly #records = new Set<number>();
  #next: number;

  constructor(
    private readonly versions: Replacements,
    sequence: number,
  ) {
    this.#next = versions.replacementsAt(sequence);
  }

  has(recordId: number): boolean {
    return this.all().has(recordId);
  }

  all(): ReadonlySet<number> {
    while (this.#next < this.versions.replacements) this.#records.add(this.versions.replacedRecord(this.#next++));
    return this.#records;
  }
}
