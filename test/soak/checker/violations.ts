/** Contradictions between a history and a log. */

import type { PartCall } from '../history/searches.js';
import { type Call, describeCall } from '../history.js';

export type ViolationKind =
  | 'damaged log'
  | 'lost write'
  | 'doubled write'
  | 'torn batch'
  | 'refused write in the log'
  | 'event without a call'
  | 'altered write'
  | 'wrong sequence'
  | 'wrong receipt'
  | 'out of order'
  | 'stale read'
  | 'read of the future'
  | 'wrong answer'
  | 'wrong search result'
  | 'eventual answer too old'
  | 'shredded key alive'
  | 'wrong index state'
  | 'poor recall'
  | 'wrong access log'
  | 'unexpected answer';

export interface Violation {
  readonly kind: ViolationKind;
  readonly collection: string;
  readonly what: string;
  readonly calls: readonly (Call | PartCall)[];
}

/** Keeps the first violations of each kind in full and counts the rest: one cause may show in thousands of calls. */
export class Violations {
  readonly #kept: Violation[] = [];
  readonly #counts = new Map<ViolationKind, number>();

  constructor(private readonly keptOfEachKind = 20) {}

  add(kind: ViolationKind, collection: string, what: string, ...calls: readonly (Call | PartCall)[]): void {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count <= this.keptOfEachKind) this.#kept.push({ kind, collection, what, calls });
  }

  get kept(): readonly Violation[] {
    return this.#kept;
  }

  get counts(): ReadonlyMap<ViolationKind, number> {
    return this.#counts;
  }
}

export const describeViolation = ({ kind, collection, what, calls }: Violation): string =>
  [`${kind} (${collection}): ${what}`, ...calls.map((call) => `    ${describeCall(call)}`)].join('\n');
