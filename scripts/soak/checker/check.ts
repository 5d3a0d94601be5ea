/** The whole check: every call of every collection against its log. Pure, and in memory. */
import { type Call, type InsertCall, isWrite } from '../history.js';
import type { CollectionLog } from './log.js';
import { ReadCheck } from './reads.js';
import { checkOrder } from './realTime.js';
import { checkReceipts } from './receipts.js';
import { type Violation, type ViolationKind, Violations } from './violations.js';
import { WriteMatch } from './writes.js';

export interface Verdict {
  /** The first ones of each kind. */
  readonly violations: readonly Violation[];
  /** Of all there are. */
  readonly counts: ReadonlyMap<ViolationKind, number>;
  readonly checked: {
    readonly writes: number;
    readonly reads: number;
    readonly receipts: number;
    readonly events: number;
  };
}

export interface CheckOptions {
  /** An eventual answer may be this much behind. */
  readonly staleMs: number;
}

export function checkHistory(calls: readonly Call[], logs: readonly CollectionLog[], options: CheckOptions): Verdict {
  const violations = new Violations();
  const checked = { writes: 0, reads: 0, receipts: 0, events: 0 };
  const byCollection = new Map<string, Call[]>(logs.map(({ collection }) => [collection, []]));
  for (const call of calls) byCollection.get(call.collection)?.push(call);
  for (const log of logs) {
    const mine = byCollection.get(log.collection) ?? [];
    if (log.refusal !== undefined) violations.add('damaged log', log.collection, log.refusal);
    for (const call of mine)
      if (call.outcome.kind === 'refused') violations.add('unexpected answer', log.collection, call.outcome.why, call);
    const writes = mine.filter(isWrite);
    const moments = new WriteMatch(log, writes, violations).check();
    checkOrder(log, moments, violations);
    checked.receipts += checkReceipts(log, writes.filter(isInsert), violations);
    checked.reads += new ReadCheck(log, moments, violations, options.staleMs).check(mine);
    checked.writes += writes.length;
    checked.events += log.entries.length;
  }
  return { violations: violations.kept, counts: violations.counts, checked };
}

const isInsert = (call: Call): call is InsertCall => call.op === 'insert';
