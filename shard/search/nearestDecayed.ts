import type { IndexKind } from '../../shared/model/indexSpec.js';
import type { Decay } from '../../shared/protocol/calls.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { mayHold, topWeighted, type WeightedBounds, weightedHits } from '../kernel/weightedScan.js';
import type { InsertionTimes } from '../state/decayTimes.js';
import { aged, DecayWeights } from './decay.js';
import type { Found } from './found.js';

/** The parts of a collection that decay looks at. No slot may pass to another row until a search has ended. */
export interface Decaying {
  readonly vectors: Pick<VectorBlocks, 'blocks' | 'liveCount' | 'idOf' | 'searchWeighted'>;
  readonly index: {
    readonly serving: IndexKind | 'brute';
    /** The nearest `n` by plain distance, all there are where they are fewer. */
    search(query: Int32Array, n: number, eligible?: SlotSet): Promise<Hits>;
  };
  readonly insertions: InsertionTimes;
}

/** Candidates that an index is asked for first, and the factor by which they grow when those are too few. */
const CANDIDATES_PER_RESULT = 4;
const CANDIDATES_MIN = 64;
const WIDENED = 4;

/** The cost of a search of an index, in rows of an exact scan: about that of HNSW, the dearest a candidate. */
const INDEX_COST_ROWS = 1_800;
const CANDIDATE_COST_ROWS = 58;

const indexCostRows = (candidates: number): number => INDEX_COST_ROWS + CANDIDATE_COST_ROWS * candidates;

/**
 * The `n` that come first by score / factor, then by score, then by id, of the live rows or of those in `eligible`.
 * Exact, or as exact as the index is by plain distance. With a largest score always exact: the scan passes over what is farther.
 *
 * An index knows nothing of age. Its candidates end at a plain score S, and the last of the best `n` among them is at
 * the decayed distance D: a row that is not among them is at S or farther, and comes in only with a factor of S / D or
 * more. Rows of such factors are young, and lie in few blocks. Those are scanned, or the index is asked for more
 * candidates, whichever costs less; with more of them S rises and D falls, until no block is left.
 */
export async function nearestDecayed(
  { vectors, index, insertions }: Decaying,
  query: Int32Array,
  n: number,
  decay: Decay,
  eligible: SlotSet | undefined,
  pause: () => Promise<void>,
  scoreMost?: number,
): Promise<Found> {
  const weights = new DecayWeights(insertions, decay);
  const scan = (bounds?: WeightedBounds): Promise<Hits> =>
    vectors.searchWeighted(query, n, weights, pause, { eligible }, bounds);
  if (scoreMost !== undefined) {
    const bounds = { weightedMost: Number.POSITIVE_INFINITY, scoreLeast: 0, scoreMost };
    return aged(await scan(bounds), insertions, decay);
  }
  const rows = Math.min(eligible?.count ?? vectors.liveCount, vectors.liveCount);
  for (let wanted = Math.max(CANDIDATES_PER_RESULT * n, CANDIDATES_MIN); ; wanted *= WIDENED) {
    if (index.serving === 'brute' || rows <= indexCostRows(wanted)) return aged(await scan(), insertions, decay);
    const { slots, scores } = await index.search(query, wanted, eligible);
    const best = topWeighted(Math.min(n, slots.length), vectors);
    for (const [i, slot] of slots.entries()) best.offer(slot, scores[i]! / weights.of(slot), scores[i]!);
    if (slots.length === wanted) {
      const bounds = { weightedMost: best.worst, scoreLeast: scores[wanted - 1]! };
      let left = 0;
      for (const [block, { live }] of vectors.blocks.entries())
        if (mayHold(bounds, weights.most(block))) left += eligible?.countIn(block) ?? live.count;
      if (left > indexCostRows(WIDENED * wanted)) continue;
      if (left > 0) {
        const known = new Set(slots);
        const found = await scan(bounds);
        for (const [i, slot] of found.slots.entries())
          if (!known.has(slot)) best.offer(slot, found.scores[i]! / weights.of(slot), found.scores[i]!);
      }
    }
    return aged(weightedHits(best, vectors), insertions, decay);
  }
}
