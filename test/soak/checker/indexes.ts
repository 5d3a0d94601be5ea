/** Checks answers about the index of a collection. Its searches show that it hides or invents nothing. */

import { answerOf } from '../history/asked.js';
import type { ConfigureIndexCall, IndexCall } from '../history/indexes.js';
import type { Violations } from './violations.js';

const STATUSES = ['none', 'building', 'active', 'failed'];

/** `first`: the kind with which the collection was created. */
export function checkIndexes(
  collection: string,
  calls: readonly IndexCall[],
  first: string,
  violations: Violations,
): void {
  const wishes = calls.filter((call) => call.op === 'configureIndex');
  for (const call of calls) {
    if (call.outcome.kind !== 'ok') continue;
    const { active, desired, status, error } = answerOf(call);
    const violate = (what: string): void => violations.add('wrong index state', collection, what, call);
    const kinds = ['none', first, ...wishes.filter(({ startMs }) => startMs <= call.endMs).map(({ kind }) => kind)];
    if (!STATUSES.includes(status)) violate(`unknown status ${status}`);
    if (status === 'failed' || error !== null) violate('a build has failed');
    if (!kinds.includes(active)) violate(`no call has requested ${active}`);
    if (!mayBeDesired(desired, call, wishes, first)) violate(`${desired} is not the kind requested last`);
  }
}

/** Whether the kind was requested before the call ended, and no other kind in between. */
function mayBeDesired(desired: string, call: IndexCall, wishes: readonly ConfigureIndexCall[], first: string): boolean {
  if (call.op === 'configureIndex') return desired === call.kind;
  const isOver = (wishEndMs: number): boolean =>
    wishes.some((other) => other.outcome.kind === 'ok' && other.startMs > wishEndMs && other.endMs < call.startMs);
  if (desired === first && !isOver(Number.NEGATIVE_INFINITY)) return true;
  return wishes.some(
    ({ kind, outcome, startMs, endMs }) =>
      kind === desired &&
      startMs <= call.endMs &&
      outcome.kind !== 'busy' &&
      // Without an answer, the time of its effect is unknown.
      !(outcome.kind === 'ok' && isOver(endMs)),
  );
}
