/**
 * A search of several collections is, for each of them, a search of its own whose hits stop where the common list does.
 * So each part is held against its collection's log; what concerns the list as a whole is looked at here.
 */
import { answerOf } from '../history/asked.js';
import type { Hit, MultiHit, MultiSearchCall, PartCall } from '../history/searches.js';
import type { Violations } from './violations.js';

/** One collection of several may be missing for a while, as any may be that is asked alone. */
const MAY_FAIL_WITH = ['unavailable'];

/** `call`: an answered one. */
export function checkWhole(call: MultiSearchCall, violations: Violations): void {
  const { hits, searched, failures, sequences } = answerOf(call);
  const violate = (what: string): void => violations.add('wrong search result', '*', what, call);
  const told = [...searched, ...failures.map(({ collection }) => collection)].sort();
  if (told.join(' ') !== [...call.collections].sort().join(' ')) violate('it tells of other collections');
  if (hits.length > call.k) violate('it tells more than it was asked for');
  if (hits.some((hit, i) => i > 0 && !isBefore(hits[i - 1]!, hit))) violate('its hits are not in order');
  if (hits.some(({ collection }) => !searched.includes(collection))) violate('a hit is of what was not searched');
  if (call.isEventual && searched.some((name) => sequences[name] === undefined)) violate('it tells no sequence');
  for (const { collection, code } of failures)
    if (!MAY_FAIL_WITH.includes(code)) violations.add('unexpected answer', collection, code, call);
}

/** What each collection that was searched has told. `call`: an answered one. */
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

/** Of equal scores those of the collection that comes first by name are first. */
function cutFor(collection: string, last: MultiHit): Hit {
  if (collection === last.collection) return { id: last.id, score: last.score };
  const id = collection < last.collection ? Number.POSITIVE_INFINITY : 0;
  return { id, score: last.score };
}

function isBefore(a: MultiHit, b: MultiHit): boolean {
  if (a.score !== b.score) return a.score < b.score;
  return a.collection === b.collection ? a.id < b.id : a.collection < b.collection;
}
