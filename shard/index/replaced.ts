import type { Slice } from '../../shared/scheduling/slice.js';
import { RecordSet } from './recordSet.js';

/** The replacements of records by upserts, which give a record another row, in order. */
export interface Replacements {
  /** Returns the number of replacements up to an event. */
  replacementsAt(sequence: number): number;
  /** Number of all replacements. */
  readonly replacements: number;
  /** Returns the record of replacement `n`, counted from 0. */
  replacedRecord(n: number): number;
}

/** The records that were replaced after an event. */
export class ReplacedSince {
  readonly #records = new RecordSet();
  #next: number;

  constructor(
    private readonly versions: Replacements,
    sequence: number,
  ) {
    this.#next = versions.replacementsAt(sequence);
  }

  /** Reads the replacements up to now. */
  async read(slice: Slice): Promise<void> {
    while (this.#readOne()) if (slice.step()) await slice.next();
  }

  /** Includes all replacements before this call. It is slow if `read` has not read many of them. */
  has(recordId: number): boolean {
    while (this.#readOne());
    return this.#records.has(recordId);
  }

  /** Returns the records that `read` has read. */
  records(): Float64Array {
    return this.#records.toFloat64();
  }

  /** Reads the next replacement. Returns false at the end. */
  #readOne(): boolean {
    if (this.#next === this.versions.replacements) return false;
    this.#records.add(this.versions.replacedRecord(this.#next++));
    return true;
  }
}
