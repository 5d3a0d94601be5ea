/**
 * Past states that the present structures still hold: each slot knows when it was born and died, and nothing that the
 * search names has been lost since. Always exact, and the same to the last bit as in the state rebuilt.
 */
import { toHex } from '../../shared/hash.js';
import { type StateSummary, stateHash } from '../audit/stateHash.js';
import type { CollectionState } from '../collection/collectionState.js';
import type { LogHistory } from '../collection/history.js';
import type { Named } from '../collection/lifetimes.js';
import type { Pace } from '../graph/pace.js';
import type { SlotSet } from '../kernel/slotSet.js';
import { nextTurn } from '../pause.js';
import type { Searched } from '../search/search.js';
import { heldRows } from './heldRows.js';
import type { PastAnswer, PastOptions } from './messages.js';
import { searchPast } from './searchState.js';

/** State hashes that are remembered: what was asked for is asked for again. */
const HASHES_KEPT = 64;

export class HeldPast {
  /** By sequence, the newest asked for last. */
  readonly #hashes = new Map<number, string>();

  constructor(
    private readonly state: CollectionState,
    private readonly history: LogHistory,
  ) {}

  /** The state after `sequence` events, 1 or more, which are applied. Undefined where memory does not hold it, or lost it meanwhile. */
  async search(
    sequence: number,
    query: Int32Array,
    options: PastOptions,
    pace: () => Pace,
  ): Promise<PastAnswer | undefined> {
    const { vectors, lifetimes } = this.state;
    const named = namedIn(options);
    if (!lifetimes.holds(sequence, named)) return undefined;
    const scan = vectors.beginScan();
    try {
      const resting = pace();
      const stateHash = await this.hashOf(sequence, resting);
      const held = await heldRows(this.state, sequence, options.filter, resting);
      // From here on no row is lost, since the scan holds them, and texts are those of the call. The graph may change.
      if (!lifetimes.holds(sequence, named)) return undefined;
      const timeMs = lifetimes.timeAt(sequence);
      const found = await searchPast(searchedAmong(this.state, held), timeMs, query, options, pace);
      const answer = { found, timeMs, stateHash };
      return named.graph && !lifetimes.holds(sequence, { ...named, filter: false, text: false }) ? undefined : answer;
    } finally {
      vectors.endScan(scan);
    }
  }

  /**
   * Of the state after `sequence` events, 1 or more, which are applied; `lifetimes` must tell it. Costs a look at each
   * record that was changed or deleted since, once.
   */
  async hashOf(sequence: number, pace: Pace): Promise<string> {
    const known = this.#hashes.get(sequence);
    this.#hashes.delete(sequence);
    const hash = known ?? toHex(stateHash(await this.#summaryOf(sequence, pace)));
    this.#hashes.set(sequence, hash);
    const [oldest] = this.#hashes.keys();
    if (this.#hashes.size > HASHES_KEPT) this.#hashes.delete(oldest!);
    return hash;
  }

  async #summaryOf(sequence: number, pace: Pace): Promise<StateSummary> {
    const { tree, graph, lifetimes } = this.state;
    const { configHash } = this.history;
    // Before a rest: a write of the graph may make it a root that is not kept.
    const graphRoot = graph.rootAt(sequence);
    const walk = tree.pastRoot(lifetimes.recordsAt(sequence), sequence);
    let step = walk.next();
    for (; !step.done; step = walk.next()) if (pace.due) await pace.rest();
    const stateRoot = step.value;
    const chainHead = this.history.tree.chainHead(sequence);
    return { configHash, stateRoot, graphRoot, chainHead, sequence, timeMs: lifetimes.timeAt(sequence) };
  }
}

const namedIn = ({ filter, text, graph }: PastOptions): Named => ({
  filter: filter !== undefined,
  text: text !== undefined,
  graph: graph !== undefined,
});

/** The present structures as those of the rows, which are all there were; a filter has been applied to them. */
function searchedAmong({ vectors, texts, graph, insertions }: CollectionState, held: SlotSet): Searched {
  const among = { held };
  return {
    vectors: {
      blocks: vectors.blocks,
      liveCount: held.count,
      beginScan: () => vectors.beginScan(),
      endScan: (scan) => vectors.endScan(scan),
      rank: (query, k, slots, pause) => vectors.rank(query, k, slots, pause),
      searchWeighted: (query, k, weights, pause, _, bounds) =>
        vectors.searchWeighted(query, k, weights, pause, among, bounds),
    },
    index: { serving: 'brute', search: (query, k) => vectors.search(query, k, nextTurn, among) },
    metadata: { select: () => held },
    texts,
    graph,
    insertions,
  };
}
