/** Chooses a client's pages of ordered lists: of a new list, or the next page of the last one. */
import type { ListCall } from '../../history/lists.js';
import type { Wanted } from '../calls/call.js';
import type { Known } from '../known.js';
import type { Draws } from './draws.js';

const LIMIT_MAX = 30;

export function anyPage(draws: Draws, collection: string, known: Known): Wanted<ListCall> {
  const { random } = draws;
  if (known.nextPage !== undefined && random.int(4) > 0) return known.nextPage;
  return {
    ...{ op: 'list', collection, orderBy: random.pick(['color', 'mark']), isDescending: draws.onceIn(2) },
    ...{ limit: 1 + random.int(LIMIT_MAX), color: draws.onceIn(4) ? draws.color() : null, after: null },
  };
}
