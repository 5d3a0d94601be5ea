import type { Decay } from '../../shared/calls.js';
import type { IndexKind } from '../../shared/indexSpec.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { WeightedHeap, type WeightedHits } from '../kernel/weightedHeap.js';
import { mayHold, type WeightedBounds } from '../kernel/weightedScan.js';
import { aged } from './decay.js';
import { DecayWeights, type Insertions } from './decayWeights.js';
import type { Found } from './found.js';

/** A collection as far as decay looks at it. No slot may pass to another row until a search has ended. */
export interface Decaying extends Insertions {
  readonly vectors: Pick<VectorBlocks, 'blocks' | 'liveCount' | 'searchWeighted'>;
  readonly index: {
    readonly serving: IndexKind | 'brute';
    /** The nearest `n` by plain distance, all there are where they are fewer. */
    search(query: Int32Array, n: number, eligible?: SlotSet): Promise<Hits>;
  };
}

/** Candidates that an index is asked for first, and how many times as many when those do not do. */
const CANDIDATES_PER_RESULT = 4;
const CANDIDATES_MIN = 64;
const WIDENED = 4;

/** What a search of an index costs, in rows of an exact scan: about that of HNSW, the dearest a candidate. */
const INDEX_COST_ROWS = 1_800;
const CANDIDATE_COST_ROWS = 58;

const indexCostRows = (candidates: number): number => INDEX_COST_ROWS + CANDIDATE_COST_ROWS * candidates;

/**
 * The `n` that come first by score / factor, then by score, then by id, of the live rows or of those in `eligible`.
 * Exact, or as exact as the index is by plain distance.
 */
export async function nearestDecayed(
  collection: Decaying,
  query: Int32Array,
  n: number,
  decay: Decay,
  eligible: SlotSet | undefined,
  pause: () => Promise<void>,
): Promise<Found> {
  const search = new DecayedSearch(collection, new DecayWeights(collection, decay), query, n, eligible, pause);
  return aged(await search.run(), (slot) => collection.insertedMsOf(slot), decay);
}

class DecayedSearch {
  constructor(
    private readonly collection: Decaying,
    private readonly weights: DecayWeights,
    private readonly query: Int32Array,
    private readonly n: number,
    private readonly eligible: SlotSet | undefined,
    private readonly pause: () => Promise<void>,
  ) {}

  /**
   * An index knows nothing of age. Its candidates end at a plain score S, and the last of the best `n` among them is at
   * the decayed distance D: what is not among them is at S or farther, and comes in only with a factor of S / D or
   * more. Rows of such factors are young, and lie in few blocks. Those are scanned, or the index is asked for more
   * candidates, whichever costs less; with more of them S rises and D falls, until no block is left.
   */
  async run(): Promise<Hits> {
    const { index } = this.collection;
    for (let wanted = Math.max(CANDIDATES_PER_RESULT * this.n, CANDIDATES_MIN); ; wanted *= WIDENED) {
      if (index.serving === 'brute' || this.#rows <= indexCostRows(wanted)) return this.#scan();
      const candidates = await index.search(this.query, wanted, this.eligible);
      const best = this.#bestOf(candidates);
      if (candidates.ids.length < wanted) return best.hits();
      const bounds = { weightedMost: best.worst, scoreLeast: candidates.scores[wanted - 1]! };
      const left = this.#rowsWithin(bounds);
      if (left === 0) return best.hits();
      if (left <= indexCostRows(WIDENED * wanted)) return this.#completed(best, await this.#scan(bounds));
    }
  }

  get #rows(): number {
    const { liveCount } = this.collection.vectors;
    return Math.min(this.eligible?.count ?? liveCount, liveCount);
  }

  #scan(bounds?: WeightedBounds): Promise<WeightedHits> {
    const { query, n, weights, pause, eligible } = this;
    return this.collection.vectors.searchWeighted(query, n, weights, pause, { eligible }, bounds);
  }

  #bestOf({ ids, slots, scores }: Hits): WeightedHeap {
    const best = new WeightedHeap(Math.min(this.n, ids.length));
    for (let i = 0; i < ids.length; i++) best.offer(ids[i]!, slots[i]!, scores[i]!, this.weights.of(slots[i]!));
    return best;
  }

  /** Rows of the blocks that a scan within the bounds would read. */
  #rowsWithin(bounds: WeightedBounds): number {
    const { blocks } = this.collection.vectors;
    let rows = 0;
    for (const [index, { liveCount }] of blocks.entries())
      if (mayHold(bounds, this.weights.most(index))) rows += this.eligible?.countIn(index) ?? liveCount;
    return rows;
  }

  #completed(best: WeightedHeap, { ids, slots, scores, weights }: WeightedHits): WeightedHits {
    const known = new Set(best.ids);
    for (let i = 0; i < ids.length; i++)
      if (!known.has(ids[i]!)) best.offer(ids[i]!, slots[i]!, scores[i]!, weights[i]!);
    return best.hits();
  }
}
