/** The searches of a graph by threads, or by the event loop with the code of the threads. */
import { ascending } from '../../kernel/ascending.js';
import { type Hits, scanScratchBytes } from '../../kernel/scanScratch.js';
import type { ScanThreads, SearchBatch } from '../../kernel/scanThreads.js';
import { allocateScratch, freeScratch, type Region } from '../../kernel/vectorMemory.js';
import type { OpenOrder } from '../kind.js';
import { type SearchedIndex, SearchQueue } from '../searchQueue.js';
import { type GraphBatch, packSearches, unpackResults } from './graphBatch.js';
import type { GraphMemory } from './graphMemory.js';
import { type GraphResult, type GraphSearch, scratchBytes, searchGraph } from './graphSearch.js';

/** Returns the slots of the rows that nodes represent; see `walk` for the nodes. */
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

  results(searches: readonly GraphSearch[], answer: unknown): (Hits | Promise<Hits>)[] {
    return unpackResults(answer as Float64Array).map((result, at) => this.#hits(searches[at]!, result));
  }

  async inLoop(search: GraphSearch): Promise<Hits> {
    const { vectors } = this.order;
    const { address, arena } = this.region;
    const graph = { arena, address, shape: this.graph.shape, ...vectors.place };
    return this.#hits(search, await this.#inTurns(searchGraph(graph, search)));
  }

  free(loans: readonly Region[]): void {
    for (const loan of loans) freeScratch(loan);
  }

  #hits(search: GraphSearch, result: GraphResult): Hits | Promise<Hits> {
    return 'hits' in result ? result.hits : this.#measured(search, result.nodes);
  }

  /** Measures the rows that nodes represent: perhaps thousands, so this is done in turns of its own. */
  async #measured(search: GraphSearch, nodes: Uint32Array): Promise<Hits> {
    const { vectors, pause } = this.order;
    await pause();
    const slots = ascending(this.slotsOf(nodes, search));
    const { arenas, table } = vectors.place;
    return this.#inTurns(table.nearest(arenas, search.query, search.k, slots));
  }

  async #inTurns<Result>(steps: Generator<undefined, Result>): Promise<Result> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      await this.order.pause();
    }
  }
}
