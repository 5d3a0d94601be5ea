/** Chooses a client's searches. */
import { NO_ONE_COLLECTION } from '../../history/asked.js';
import type { Call } from '../../history.js';
import type { Wanted } from '../calls/call.js';
import type { Known } from '../known.js';
import type { Draws } from './draws.js';

const K_MAX = 12;
const COLLECTIONS_MAX = 4;

/** `comparable`: collections with the same dimension. */
export function anySearch(
  draws: Draws,
  collection: string,
  known: Known,
  comparable: readonly string[],
  hasEventual: boolean,
): Wanted<Call> {
  const { random } = draws;
  const asked = {
    query: query(draws, known),
    k: 1 + random.int(K_MAX),
    color: draws.onceIn(3) ? draws.color() : null,
    isEventual: hasEventual && draws.onceIn(4),
  };
  const chance = random.int(10);
  if (chance < 7) return { op: 'search', collection, asOf: null, ...asked };
  if (chance < 8) return { op: 'search', collection, ...asked, asOf: pastSequence(draws, known), isEventual: false };
  const others = Array.from({ length: random.int(COLLECTIONS_MAX) }, () => random.pick(comparable));
  return {
    op: 'multiSearch',
    collection: NO_ONE_COLLECTION,
    collections: [...new Set([collection, ...others])],
    ...asked,
  };
}

/** Sometimes a recently written vector, which an index must have taken in. */
const query = (draws: Draws, { rows, shape }: Known): readonly number[] =>
  rows.length > 0 && draws.onceIn(3) ? draws.random.pick(rows).vector : draws.vector(shape.dimension);

/** Often the latest answered sequence, which is the past from then on. */
const pastSequence = (draws: Draws, { sequence }: Known): number =>
  draws.onceIn(4) ? sequence : draws.random.int(sequence + 1);
