/** The searches of inverted lists by threads, or by the event loop with the code of the threads. */
import { inTurns } from '../../../shared/scheduling/slice.js';
import { type Hits, scanScratchBytes } from '../../kernel/scanScratch.js';
import type { ScanThreads } from '../../kernel/scanThreads.js';
import { hitsIn, type SearchResult, slotsIn } from '../batchForm.js';
import type { OpenOrder } from '../kind.js';
import { lend, tableFor } from '../loans.js';
import { type LentBatch, type SearchedIndex, SearchQueue } from '../searchQueue.js';
import { listScratchBytes } from './listQuery.js';
import { type ListsBatch, packListsSearches, type ThreadedSearch } from './listsBatch.js';
import type { OpenLists } from './openLists.js';
import { searchLists } from './readLists.js';

export class ThreadedLists implements SearchedIndex<ThreadedSearch> {
  readonly queue: SearchQueue<ThreadedSearch>;

  constructor(
    threads: ScanThreads,
    private readonly order: OpenOrder,
    private readonly lists: OpenLists,
  ) {
    this.queue = new SearchQueue(threads, this);
  }

  batch(searches: readonly ThreadedSearch[]): LentBatch {
    const { vectors } = this.order;
    const { shape, dimension } = vectors;
    const rows = vectors.place;
    const centroids = this.lists.centroids.place;
    const chunks = this.lists.place;
    const arenas = [...new Set([...rows.arenas, ...centroids.arenas, ...chunks.arenas])];
    const hasSigns = searches.some(({ rotated }) => rotated !== undefined);
    const k = searches.reduce((most, search) => Math.max(most, search.k), 0);
    // A search that finds too few rows looks for farther lists while it has scratch.
    const loans = lend(arenas, (arena) => {
      const centroidBytes = scanScratchBytes(arena, this.lists.count, shape);
      return centroidBytes + listScratchBytes(arena, k, shape, hasSigns);
    });
    const work: ListsBatch = {
      kind: 'ivf',
      dimension,
      hasSigns: this.lists.hasSigns,
      lists: this.lists.count,
      rows: tableFor(rows.table.buffer, rows.arenas, arenas),
      centroids: tableFor(centroids.table.buffer, centroids.arenas, arenas),
      chunks: tableFor(chunks.table, chunks.arenas, arenas),
      searches: packListsSearches(searches),
    };
    return { loans, work };
  }

  hits(_search: ThreadedSearch, result: SearchResult): Hits {
    return hitsIn(result);
  }

  async inLoop(search: ThreadedSearch): Promise<Hits> {
    const { vectors, pause } = this.order;
    const { shape, narrowReach, place } = vectors;
    return inTurns(searchLists(this.lists, search, { shape, narrowReach, ...place }, slotsIn(search.eligible)), pause);
  }
}
