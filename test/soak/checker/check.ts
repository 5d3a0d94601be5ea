/** The whole check: every call of every collection against its log. Pure, and in memory. */

import type { AccessEntry } from '../access/accessEntries.js';
import type { InsertCall } from '../history/records.js';
import type { MultiSearchCall } from '../history/searches.js';
import { type Call, isRead, isWrite } from '../history.js';
import { checkAliasSearches } from './aliasSearches.js';
import { checkChanges } from './changes.js';
import { checkIndexes } from './indexes.js';
import type { CollectionLog } from './log.js';
import { checkWhole, partsOf } from './multiSearch.js';
import { ReadCheck } from './reads.js';
import { checkOrder } from './realTime.js';
import { Recall } from './recall.js';
import { checkReceipts } from './receipts.js';
import { checkSecrets } from './secrets.js';
import type { Question } from './truth.js';
import { type Violation, type ViolationKind, Violations } from './violations.js';
import { WriteMatch } from './writes.js';

export interface Verdict {
  /** The first violations of each kind. */
  readonly violations: readonly Violation[];
  /** Number of all violations per kind. */
  readonly counts: ReadonlyMap<ViolationKind, number>;
  readonly checked: {
    readonly writes: number;
    readonly reads: number;
    readonly receipts: number;
    readonly events: number;
  };
  /** Recall of collections with an index. */
  readonly recall: Recall;
}

export interface CheckOptions {
  /** Greatest staleness of an eventual answer. */
  readonly staleMs: number;
  /** Collections that may have an index → the kind they were created with. */
  readonly indexed: ReadonlyMap<string, string>;
  /** Unix time of moment 0 of the calls; undefined: the service has other clocks. */
  readonly unixMs?: number;
  /** Entries of the access logs, by collection. */
  readonly access?: ReadonlyMap<string, readonly AccessEntry[]>;
}

export function checkHistory(calls: readonly Call[], logs: readonly CollectionLog[], options: CheckOptions): Verdict {
  const violations = new Violations();
  const recall = new Recall();
  const checked = { writes: 0, reads: 0, receipts: 0, events: 0 };
  for (const call of calls)
    if (call.outcome.kind === 'refused') violations.add('unexpected answer', call.collection, call.outcome.why, call);
  const byCollection = groupBy(calls, ({ collection }) => collection);
  const multi = calls.filter(isAnsweredMulti);
  for (const call of multi) checkWhole(call, violations);
  const parts = groupBy(multi.flatMap(partsOf), ({ collection }) => collection);
  const checks = new Map<string, ReadCheck>();
  const shreds = calls.filter((call) => call.op === 'shred');
  for (const log of logs) {
    const { collection, refusal, entries } = log;
    const mine = byCollection.get(collection) ?? [];
    if (refusal !== undefined) violations.add('damaged log', collection, refusal);
    const writes = mine.filter(isWrite);
    const match = new WriteMatch(log, writes, shreds, violations);
    const moments = match.check(options.unixMs);
    checkOrder(log, moments, violations);
    checkChanges(log, writes, violations);
    checked.receipts += checkReceipts(log, writes.filter(isInsert), violations);
    const questions = [...mine.filter(isQuestion), ...(parts.get(collection) ?? [])];
    const index = options.indexed.get(collection);
    const readOptions = { staleMs: options.staleMs, recall: index === undefined ? undefined : recall };
    const reads = new ReadCheck(log, moments, violations, readOptions);
    reads.check(questions);
    checks.set(collection, reads);
    for (const entry of options.access?.get(collection) ?? []) reads.checkEntry(entry);
    checkIndexes(collection, mine.filter(isOfIndex), index ?? 'none', violations);
    checked.reads += questions.length;
    checked.writes += writes.length;
    checked.events += entries.length;
  }
  checkAliasSearches(calls, checks, violations);
  checkSecrets(calls, logs, violations);
  recall.check(violations);
  return { violations: violations.kept, counts: violations.counts, checked, recall };
}

const isInsert = (call: Call): call is InsertCall => call.op === 'insert';
const isOfIndex = (call: Call) => call.op === 'configureIndex' || call.op === 'indexState';

const isAnsweredMulti = (call: Call): call is MultiSearchCall =>
  call.op === 'multiSearch' && call.outcome.kind === 'ok';

/** Whether the call is an answered read, or was refused because something does not exist. */
function isQuestion(call: Call): call is Question & Call {
  const { kind } = call.outcome;
  if (isRead(call)) return kind === 'ok' || kind === 'absent' || kind === 'shredded';
  return isWrite(call) && (kind === 'absent' || kind === 'changed');
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
