import { NO_SLOT } from '../rows.js';
import type { GraphRows } from './segmentRows.js';

/** Largest number of rows proposed. Of more equal rows, chance decides which are found. */
const PROPOSED_MAX = 16_384;
/** Largest number of equal rows that are looked at. If few of so many are eligible, an exact search takes no longer. */
const VISITED_MAX = 65_536;

/** The rows that a search proposes. */
export class Proposals {
  readonly slots: Set<number>;
  #visited = 0;

  constructor(
    private readonly rows: GraphRows,
    private readonly isEligible: ((slot: number) => boolean) | undefined,
    slots: Iterable<number> = [],
  ) {
    this.slots = new Set(slots);
  }

  /** All proposed slots. None if so many rows were looked at that an exact search takes no longer. */
  get all(): Uint32Array {
    return Uint32Array.from(this.#visited < VISITED_MAX ? this.slots : []);
  }

  /** Proposes a row, if it is live and eligible. Returns false if no more rows are to be proposed. */
  readonly propose = (ordinal: number): boolean => {
    const slot = this.rows.slotOf(ordinal);
    if (slot !== NO_SLOT && (this.isEligible?.(slot) ?? true)) this.slots.add(slot);
    return ++this.#visited < VISITED_MAX && this.slots.size < PROPOSED_MAX;
  };
}
