/** Search by decayed distance through an index, which orders rows by plain distance: candidates first, then young rows. */
import type { IndexKind } from '../../shared/model/indexSpec.js';
import type { Decay } from '../../shared/protocol/calls.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { mayHold, topWeighted, type WeightedBounds, weightedHits } from '../kernel/weightedScan.js';
import type { InsertionTimes } from '../state/decayTimes.js';
import { aged, DecayWeights } from './decay.js';
import type { Found } from './found.js';

/** Parts of a collection that the search reads. The caller lets no slot be reused until it has ended. */
export interface Decaying {
  readonly vectors: Pick<VectorBlocks, 'blocks' | 'liveCount' | 'idOf' | 'searchWeighted'>;
  readonly index: {
    readonly serving: IndexKind | 'brute';
    /** Returns the nearest `n` rows by plain distance. */
    search(query: Int32Array, n: number, eligible?: SlotSet): Hits | Promise<Hits>;
  };
  readonly insertions: InsertionTimes;
}

export interface DecayedQuery {
  readonly query: Int32Array;
  readonly n: number;
  readonly decay: Decay;
  readonly eligible: SlotSet | undefined;
  /** Largest score; undefined for any. */
  readonly scoreMost?: number | undefined;
}

/** Candidates requested from the index at first: so many per result, and at least so many. */
const CANDIDATES_PER_RESULT = 4;
const CANDIDATES_MIN = 64;
/** Factor by which more candidates are requested if the first do not suffice. */
const WIDENED = 4;

/** Cost of a search of an index: about that of HNSW, whose candidates cost most. The unit is a row of an exact scan. */
const INDEX_COST_ROWS = 1_800;
const CANDIDATE_COST_ROWS = 58;

const indexCostRows = (candidates: number): number => INDEX_COST_ROWS + CANDIDATE_COST_ROWS * candidates;

/**
 * Returns the first `n` by score / factor, then by score, then by id, of the live rows or of those in `eligible`. As exact as
 * the index is by plain distance. With a largest score it is always exact: a scan skips farther rows, and needs no index. It is
 * also exact if an exact scan costs less than the index.
 *
 * The candidates of an index end at a plain score S. Let D be the decayed distance of the last of the best `n` among them. Any
 * other row has a score of at least S, so it belongs to the best only with a factor of at least S / D. Rows with such factors
 * are young, and are in few blocks. These blocks are scanned, or the index is asked for more candidates, whichever costs less.
 * With more candidates S rises and D falls, until no block is left.
 */
export async function nearestDecayed(
  { vectors, index, insertions }: Decaying,
  { query, n, decay, eligible, scoreMost }: DecayedQuery,
  pause: () => Promise<void>,
): Promise<Found> {
  const weights = new DecayWeights(insertions, decay);
  const scan = (bounds?: WeightedBounds): Promise<Hits> =>
    vectors.searchWeighted(query, n, { weights, bounds, eligible }, pause);
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
