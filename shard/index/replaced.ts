/** The replacements of records by upserts, which give a record another row, in order. */
export interface Replacements {
  /** Returns the number of replacements up to an event. */
  replacementsAt(sequence: number): number;
  /** Number of all replacements. */
  readonly replacements: number;
  /** Returns the record of replacement `n`, counted from 0. */
  replacedRecord(n: number): number;
}

/** The records that were replaced after an event. Each call includes the replacements made before it. */
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
