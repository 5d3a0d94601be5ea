/** The work of a thread on a batch of searches, for each kind of index. */
import { unreachable } from '../../shared/errors/errors.js';
import type { ScratchArena } from '../kernel/vectorMemory.js';
import { packResults, type SearchResult } from './batchForm.js';
import { type CodesBatch, searchCodesOf } from './bq/codesBatch.js';
import { type GraphBatch, searchGraphs } from './hnsw/graphBatch.js';
import { type ListsBatch, searchListsOf } from './ivf/listsBatch.js';

export type IndexWork = GraphBatch | ListsBatch | CodesBatch;

/** Makes the searches of a batch, with scratch in the lent memory. Returns the packed results. */
export const searchIndex = (lent: readonly ScratchArena[], work: IndexWork): Float64Array =>
  packResults(resultsOf(lent, work));

function resultsOf(lent: readonly ScratchArena[], work: IndexWork): SearchResult[] {
  switch (work.kind) {
    case 'hnsw':
      return searchGraphs(lent, work);
    case 'ivf':
      return searchListsOf(lent, work);
    case 'bq':
      return searchCodesOf(lent, work);
    default:
      return unreachable(work);
  }
}
