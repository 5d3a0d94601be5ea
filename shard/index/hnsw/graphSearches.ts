/** The searches of a graph: on threads, or in the event loop with the code of the threads. */
import { inTurns, soon } from '../../../shared/scheduling/slice.js';
import { ascending } from '../../kernel/ascending.js';
import { type Hits, scanScratchBytes } from '../../kernel/scanScratch.js';
import type { ScanThreads } from '../../kernel/scanThreads.js';
import type { Region } from '../../kernel/vectorMemory.js';
import type { SearchResult } from '../batchForm.js';
import type { OpenOrder } from '../kind.js';
import { lend } from '../loans.js';
import { type LentBatch, type SearchedIndex, SearchQueue } from '../searchQueue.js';
import { type GraphBatch, packSearches } from './graphBatch.js';
import type { GraphShape } from './graphMemory.js';
import { type GraphSearch, layoutFor, searchGraph } from './graphSearch.js';

/** A graph in memory. */
interface OpenGraph {
  readonly region: Region;
  readonly shape: GraphShape;
  /** Returns the slots of the rows that nodes represent; see `walk` for the nodes. */
  slotsOf(nodes: Uint32Array, search: GraphSearch): Uint32Array;
}

export class GraphSearches implements SearchedIndex<GraphSearch> {
  /** Undefined without threads. */
  readonly #queue: SearchQueue<GraphSearch> | undefined;

  constructor(
    threads: ScanThreads | undefined,
    private readonly order: Pick<OpenOrder, 'vectors' | 'pause'>,
    private readonly graph: OpenGraph,
  ) {
    this.#queue = threads && new SearchQueue(threads, this);
  }

  /** Makes a search, on threads while they take searches. `costBytes`: see `SearchQueue.add`. */
  run(search: GraphSearch, costBytes: () => number): Hits | Promise<Hits> {
    return this.#queue?.isOpen ? this.#queue.add(search, costBytes()) : this.#here(search);
  }

  batch(searches: readonly GraphSearch[]): LentBatch {
    const { vectors } = this.order;
    const { arenas: rows, table } = vectors.place;
    const { region, shape } = this.graph;
    const { arena, address } = region;
    const arenas = rows.includes(arena) ? rows : [...rows, arena];
    const k = searches.reduce((most, search) => Math.max(most, search.k), 0);
    const walkBytes = searches.reduce((most, search) => Math.max(most, layoutFor(shape, search).sizeBytes), 0);
    const loans = lend(arenas, (each) => {
      const scanBytes = scanScratchBytes(each, k, vectors.shape);
      return each === arena ? Math.max(walkBytes, scanBytes) : scanBytes;
    });
    const work: GraphBatch = {
      kind: 'hnsw',
      dimension: vectors.dimension,
      arena: arenas.indexOf(arena),
      address,
      shape,
      table: table.buffer,
      searches: packSearches(searches),
    };
    return { loans, work };
  }

  /** Measures the rows of nodes that represent several: perhaps thousands, so this is done in turns of its own. */
  hits(search: GraphSearch, result: SearchResult): Hits | Promise<Hits> {
    return 'hits' in result ? result.hits : this.#measured(search, result.nodes);
  }

  async inLoop(search: GraphSearch): Promise<Hits> {
    return this.#here(search);
  }

  /** Searches in the event loop. Most searches end in one turn, without a promise. */
  #here(search: GraphSearch): Hits | Promise<Hits> {
    const { vectors, pause } = this.order;
    const { region, shape } = this.graph;
    const { arena, address } = region;
    const graph = { arena, address, shape, ...vectors.place };
    const result = soon(searchGraph(graph, search), pause);
    return result instanceof Promise ? result.then((later) => this.hits(search, later)) : this.hits(search, result);
  }

  async #measured(search: GraphSearch, nodes: Uint32Array): Promise<Hits> {
    const { vectors, pause } = this.order;
    await pause();
    const slots = ascending(this.graph.slotsOf(nodes, search));
    const { arenas, table } = vectors.place;
    return inTurns(table.nearest(arenas, search.query, search.k, slots), pause);
  }
}
