/** A set of record ids in the order of their addition. It has no limit; a `Set` has room for 16.7 million. */
import { Column } from '../kernel/column.js';
import { NO_RECORD } from './rows.js';

export class RecordSet {
  /** 1 at the id of each record of the set. */
  readonly #isIn = new Column(0);
  readonly #ids = new Column(NO_RECORD);

  add(id: number): void {
    if (this.has(id)) return;
    this.#isIn.set(id, 1);
    this.#ids.push(id);
  }

  has(id: number): boolean {
    return this.#isIn.get(id) === 1;
  }

  toFloat64(): Float64Array {
    return this.#ids.toFloat64();
  }
}
