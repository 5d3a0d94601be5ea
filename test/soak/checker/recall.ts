/** Recall of searches over an index: the share of the exact results that they found. */
import type { Violations } from './violations.js';

/** Greatest age, in events, of young records, which an index must take in after its build. */
const YOUNG_EVENTS = 64;
/** A loose bound, only for many records. */
const LEAST_SHARE = 0.8;
const LEAST_WANTED = 500;

interface Tally {
  wanted: number;
  found: number;
}

export class Recall {
  readonly all: Tally = { wanted: 0, found: 0 };
  readonly young: Tally = { wanted: 0, found: 0 };

  /** `nearest`: the hits of an exact search of the state at `sequence`. */
  add(
    ids: readonly number[],
    nearest: readonly { readonly id: number; readonly bornAt: number }[],
    sequence: number,
  ): void {
    const hits = new Set(ids);
    for (const { id, bornAt } of nearest) {
      count(this.all, hits.has(id));
      if (sequence - bornAt < YOUNG_EVENTS) count(this.young, hits.has(id));
    }
  }

  check(violations: Violations): void {
    for (const [what, { wanted, found }] of Object.entries({ records: this.all, 'young records': this.young }))
      if (wanted >= LEAST_WANTED && found < LEAST_SHARE * wanted)
        violations.add('poor recall', '*', `searches over indexes found ${found} of the ${wanted} nearest ${what}`);
  }
}

function count(tally: Tally, isFound: boolean): void {
  tally.wanted++;
  if (isFound) tally.found++;
}
