/** The searches of codes by threads, or by the event loop with the code of the threads. */
import { inTurns } from '../../../shared/scheduling/slice.js';
import { type Hits, scanScratchBytes } from '../../kernel/scanScratch.js';
import type { ScanThreads } from '../../kernel/scanThreads.js';
import { hitsIn, type SearchResult } from '../batchForm.js';
import type { OpenOrder } from '../kind.js';
import { lend, tableFor } from '../loans.js';
import { type LentBatch, type SearchedIndex, SearchQueue } from '../searchQueue.js';
import type { CodeBlocks } from './codeBlocks.js';
import { codeScratchBytes } from './codeScan.js';
import { type CodesBatch, type CodesSearch, packCodesSearches, searchCodes } from './codesBatch.js';
import { CodeTable } from './codeTable.js';

export class ThreadedCodes implements SearchedIndex<CodesSearch> {
  readonly queue: SearchQueue<CodesSearch>;

  constructor(
    threads: ScanThreads,
    private readonly order: OpenOrder,
    private readonly codes: CodeBlocks,
  ) {
    this.queue = new SearchQueue(threads, this);
  }

  batch(searches: readonly CodesSearch[]): LentBatch {
    const { shape, dimension, place } = this.order.vectors;
    const codes = this.codes.place;
    const arenas = [...new Set([...place.arenas, ...codes.arenas])];
    const k = searches.reduce((most, search) => Math.max(most, search.k), 0);
    const loans = lend(arenas, (arena) => Math.max(codeScratchBytes(shape), scanScratchBytes(arena, k, shape)));
    const work: CodesBatch = {
      kind: 'bq',
      dimension,
      rows: tableFor(place.table.buffer, place.arenas, arenas),
      codes: tableFor(codes.table, codes.arenas, arenas),
      searches: packCodesSearches(searches),
    };
    return { loans, work };
  }

  hits(_search: CodesSearch, result: SearchResult): Hits {
    return hitsIn(result);
  }

  async inLoop(search: CodesSearch): Promise<Hits> {
    const { vectors, pause } = this.order;
    const { shape, place } = vectors;
    const { table, arenas } = this.codes.place;
    const codes = new CodeTable(table, arenas, shape);
    return inTurns(searchCodes({ shape, codes, ...place, keptIn: undefined }, search), pause);
  }
}
