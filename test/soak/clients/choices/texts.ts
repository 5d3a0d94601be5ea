/** Chooses a client's searches by text. */
import type { HybridCall, TextCall } from '../../history/texts.js';
import type { Wanted } from '../calls/call.js';
import type { Known } from '../known.js';
import type { Draws } from './draws.js';

const K_MAX = 12;
const WORDS_MAX = 3;
const WEIGHTS = [0, 0.3, 0.5, 1];

/** Searches by text alone of a collection with an index: such an index may miss candidates of the other search. */
export function textSearch(draws: Draws, collection: string, { shape }: Known): Wanted<TextCall | HybridCall> {
  const { random } = draws;
  const words = [...new Set(Array.from({ length: 1 + random.int(WORDS_MAX) }, () => draws.word()))];
  const asked = { collection, words, k: 1 + random.int(K_MAX), color: draws.onceIn(3) ? draws.color() : null };
  if (shape.index !== 'none' || draws.onceIn(2)) return { op: 'searchText', ...asked };
  const fusion = random.pick(['blend', 'rrf'] as const);
  return { op: 'searchHybrid', ...asked, query: draws.vector(shape.dimension), weight: random.pick(WEIGHTS), fusion };
}
