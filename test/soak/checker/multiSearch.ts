/**
 * Splits a search over several collections into one search per collection, whose hits end where the common list ends.
 * Each part is checked against its collection's log. This file checks the list as a whole.
 */
import { answerOf } from '../history/asked.js';
import type { Hit, MultiHit, MultiSearchCall, PartCall } from '../history/searches.js';
import type { Violations } from './violations.js';

/** A collection may be temporarily unavailable, here as in a search of its own. */
const MAY_FAIL_WITH = ['unavailable'];

/** `call`: an answered one. */
export function checkWhole(call: MultiSearchCall, violations: Violations): void {
  const { hits, searched, failures, sequences } = answerOf(call);
  const violate = (what: string): void => violations.add('wrong search result', '*', what, call);
  const named = [...searched, ...failures.map(({ collection }) => collection)].sort();
  if (named.join(' ') !== [...call.collections].sort().join(' ')) violate('it names other collections');
  if (hits.length > call.k) violate('it has more than k hits');
  if (hits.some((hit, i) => i > 0 && !isBefore(hits[i - 1]!, hit))) violate('its hits are not in order');
  if (hits.some(({ collection }) => !searched.includes(collection)))
    violate('a hit is from a collection that was not searched');
  if (call.isEventual && searched.some((name) => sequences[name] === undefined)) violate('it names no sequence');
  for (const { collection, code } of failures)
    if (!MAY_FAIL_WITH.includes(code)) violations.add('unexpected answer', collection, code, call);
}

/** Answer of each searched collection. `call`: an answered one. */
export function partsOf(call: MultiSearchCall): PartCall[] {
  const { collections: _, outcome: __, ...asked } = call;
  const { hits, searched, sequences } = answerOf(call);
  const last = hits.length < call.k ? undefined : hits.at(-1);
  return searched.map((collection) => {
    const mine = hits.filter((hit) => hit.collection === collection);
    const ids = mine.map(({ id }) => id);
    const scores = mine.map(({ score }) => score);
    const answer = { ids, scores, sequence: sequences[collection] };
    const cut = last === undefined ? null : cutFor(collection, last);
    return { ...asked, op: 'partOfMultiSearch', collection, cut, outcome: { kind: 'ok', answer } };
  });
}

/** Among equal scores, collections are ordered by name. */
function cutFor(collection: string, last: MultiHit): Hit {
  if (collection === last.collection) return { id: last.id, score: last.score };
  const id = collection < last.collection ? Number.POSITIVE_INFINITY : 0;
  return { id, score: last.score };
}

function isBefore(a: MultiHit, b: MultiHit): boolean {
  if (a.score !== b.score) return a.score < b.score;
  return a.collection === b.collection ? a.id < b.id : a.collection < b.collection;
}
