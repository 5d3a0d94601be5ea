/** The best BM25 matches of a collection, whatever their vectors are. */
import type { SearchCall, TextQuery } from '../../shared/protocol/calls.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { MetadataIndex } from '../metadata/metadataIndex.js';
import type { TextIndex } from '../text/textIndex.js';
import { type Found, floats } from './found.js';

const NONE = new Float64Array(0);
const NO_SLOTS = new Uint32Array(0);

/**
 * Returns the best `k` records with a word of the query, greatest score first, equal ones by id. Both the texts and the
 * filter are of one state. The caller keeps all slots until the end.
 */
export async function searchTexts(
  { metadata, texts }: { readonly metadata: Pick<MetadataIndex, 'select'>; readonly texts: TextIndex },
  { query, terms }: TextQuery,
  { k, filter }: Pick<SearchCall, 'k' | 'filter'>,
  slice: () => Slice,
): Promise<Found> {
  const eligible = filter === undefined ? undefined : (await metadata.select(filter, slice()))();
  // Await nothing before: the texts are of the state of the filter.
  const matches = texts.openQuery(query, terms);
  try {
    const { best } = await matches.best(k, eligible, NO_SLOTS, slice);
    const { slots, scores } = best;
    return { ids: floats(slots.length, (i) => texts.idOf(slots[i]!)), slots, scores: NONE, textScores: scores };
  } finally {
    matches.close();
  }
}
