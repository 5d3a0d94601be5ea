/** Checks searches by the alias: each is true of one collection to which the alias may have led at some moment of it. */
import type { SearchAliasCall } from '../history/aliases.js';
import type { SearchCall } from '../history/searches.js';
import type { Call } from '../history.js';
import { AliasMoves, type Move } from './aliasMoves.js';
import type { ReadCheck } from './reads.js';
import type { Violations } from './violations.js';

/** `checks`: of all collections, after their own checks. */
export function checkAliasSearches(
  calls: readonly Call[],
  checks: ReadonlyMap<string, ReadCheck>,
  violations: Violations,
): void {
  const moves = new AliasMoves(calls.flatMap((call): Move[] => (call.op === 'moveAlias' ? [moveOf(call)] : [])));
  for (const call of calls) {
    if (call.op !== 'searchAlias') continue;
    const { kind } = call.outcome;
    const names = [...new Set(moves.possible(call.startMs, call.endMs).map(({ name }) => name))];
    if (kind === 'absent' && moves.isMovedBy(call.startMs))
      violations.add('stale read', '*', 'the alias leads to no collection', call);
    if (kind === 'ok' && !names.some((name) => checks.get(name)?.mayShow(searchOf(call, name))))
      violations.add('wrong search result', '*', `it is not one of ${names.join(' or ')}`, call);
  }
}

const moveOf = ({ to, startMs, endMs, outcome }: Call & { readonly op: 'moveAlias' }): Move => ({
  ...{ name: to, startMs, isUndone: false },
  endMs: outcome.kind === 'ok' ? endMs : Number.POSITIVE_INFINITY,
});

const searchOf = (call: SearchAliasCall, collection: string): SearchCall => ({
  ...{ ...call, op: 'search', collection, isEventual: false, asOf: null },
});
