/** The searches of a graph on the search threads, or in the event loop with the code of the threads. */
import { ascending } from '../../kernel/ascending.js';
import { type Hits, scanScratchBytes } from '../../kernel/scanScratch.js';
import type { ScanThreads, SearchBatch } from '../../kernel/scanThreads.js';
import { allocateScratch, freeScratch, type Region } from '../../kernel/vectorMemory.js';
import type { OpenOrder } from '../kind.js';
import { type SearchedIndex, SearchQueue } from '../searchQueue.js';
import { type GraphBatch, packSearches, unpackResults } from './graphBatch.js';
import type { GraphMemory } from './graphMemory.js';
import { type GraphSearch, type Searched, scratchBytes, searchGraph } from './graphSearch.js';

/** Returns the slots of the rows that the nodes represent; see `GraphSearch` for the nodes. */
type SlotsOf = (nodes: Uint32Array, search: GraphSearch) => Uint32Array;

export class ThreadedGraph implements SearchedIndex<GraphSearch> {
  readonly queue: SearchQueue<GraphSearch>;

  constructor(
    threads: ScanThreads,
    private readonly order: OpenOrder,
    private readonly region: Region,
    private readonly graph: GraphMemory,
    private readonly slotsOf: SlotsOf,
  ) {
    this.queue = new SearchQueue(threads, this);
  }

  batch(searches: readonly GraphSearch[]): Pick<SearchBatch, 'loans' | 'work'> {
    const { arenas: rows, table } = this.order.vectors.place;
    const { arena, address } = this.region;
    const { shape } = this.graph;
    const arenas = rows.includes(arena) ? rows : [...rows, arena];
    const k = searches.reduce((most, search) => Math.max(most, search.k), 0);
    const walkBytes = searches.reduce((most, search) => Math.max(most, scratchBytes(shape, search)), 0);
    const loans: Region[] = [];
    try {
      for (const each of arenas) {
        const scanBytes = scanScratchBytes(each, k, this.order.vectors.shape);
        loans.push(allocateScratch(each, each === arena ? Math.max(walkBytes, scanBytes) : scanBytes));
      }
    } catch (error) {
      this.free(loans);
      throw error;
    }
    const work: GraphBatch = {
      dimension: this.order.vectors.dimension,
      arena: arenas.indexOf(arena),
      address,
      shape,
      table: table.buffer,
      searches: packSearches(searches),
    };
    return { loans, work };
  }

  results(searches: readonly GraphSearch[], answer: unknown): Hits[] {
    return unpackResults(answer as Float64Array).map((result, at) => this.#hits(searches[at]!, result));
  }

  async here(search: GraphSearch): Promise<Hits> {
    const { vectors, pause } = this.order;
    const { address, arena } = this.region;
    const steps = searchGraph({ arena, address, shape: this.graph.shape, ...vectors.place }, search);
    for (;;) {
      const step = steps.next();
      if (step.done) return this.#hits(search, step.value);
      await pause();
    }
  }

  free(loans: readonly Region[]): void {
    for (const loan of loans) freeScratch(loan);
  }

  #hits(search: GraphSearch, result: Searched): Hits {
    if ('hits' in result) return result.hits;
    const { arenas, table } = this.order.vectors.place;
    return table.nearest(arenas, search.query, search.k, ascending(this.slotsOf(result.nodes, search)));
  }
}
