/**
 * A search of one collection, step by step. What a request does not name is not there, and costs nothing:
 *
 *   filter ──▶ eligible ──▶ nearest (by decayed distance) ──▶ blend with the text ──▶ graph ──▶ best k
 */
import type { Decay, SearchCall, TextQuery } from '../../shared/calls.js';
import type { Graph } from '../graph/graph.js';
import type { Pace } from '../graph/pace.js';
import { rerankByGraph } from '../graph/rerank.js';
import type { CollectionIndex } from '../index/collectionIndex.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { MetadataIndex } from '../metadata/metadataIndex.js';
import { nextTurn } from '../pause.js';
import type { TextIndex } from '../text/textIndex.js';
import type { TextMatches } from '../text/textMatches.js';
import { blend } from './blend.js';
import { aged } from './decay.js';
import type { InsertionTimes, Young } from './decayTimes.js';
import type { Found } from './found.js';
import { type Decaying, nearestDecayed } from './nearestDecayed.js';

/** A collection as a search sees it. */
export interface Searched {
  readonly vectors: Pick<VectorBlocks, 'beginScan' | 'endScan' | 'rank'> & Decaying['vectors'];
  readonly index: Pick<CollectionIndex, 'search' | 'serving'>;
  readonly metadata: Pick<MetadataIndex, 'select'>;
  readonly texts: TextIndex;
  readonly graph: Graph;
  readonly insertions: InsertionTimes;
}

/** Records that the text may reorder: of each that is asked for so many, and no more than the most that can be asked for. */
const POOL_PER_RESULT = 20;
const POOL_MAX = 5_000;

const NOTHING: Found = { ids: new Float64Array(0), slots: new Uint32Array(0), scores: new Float64Array(0) };

/** `query`: components. `pace`: of a walk through the graph. */
export async function search(
  searched: Searched,
  query: Int32Array,
  call: Omit<SearchCall, 'op' | 'query'>,
  pace: () => Pace,
): Promise<Found> {
  const { filter, decay, text, graph, k } = call;
  if (filter === undefined && decay === undefined && text === undefined && graph === undefined)
    return searched.index.search(query, k);
  // Slots are passed from step to step: until the last one none of them may pass to another record.
  const scan = searched.vectors.beginScan();
  try {
    const eligible = filter === undefined ? undefined : searched.metadata.select(filter);
    const found = await new Steps(searched, query, decay, eligible, pace).run(k, text);
    return graph === undefined ? found : await rerankByGraph(found, searched.graph, graph, pace());
  } finally {
    searched.vectors.endScan(scan);
  }
}

class Steps {
  constructor(
    private readonly searched: Searched,
    private readonly query: Int32Array,
    private readonly decay: Decay | undefined,
    private readonly eligible: SlotSet | undefined,
    private readonly pace: () => Pace,
  ) {}

  async run(k: number, text: TextQuery | undefined): Promise<Found> {
    const { texts } = this.searched;
    if (this.eligible?.count === 0) return NOTHING;
    if (text === undefined || texts.documents === 0) return this.#nearest(k);
    // Opened first: the texts are those of the call, as the rows of a scan are, whatever is written meanwhile.
    const matches = texts.match(text.query);
    try {
      return matches.isEmpty ? await this.#nearest(k) : await this.#blended(k, matches, text.hybrid);
    } finally {
      matches.close();
    }
  }

  async #blended(k: number, matches: TextMatches, hybrid: boolean): Promise<Found> {
    const pool = Math.min(POOL_PER_RESULT * k, POOL_MAX);
    const near = await this.#nearest(pool);
    if (!hybrid) return blend(near, await matches.scores(near.slots, this.pace), k);
    const { best, scores } = await matches.best(pool, this.eligible, near.slots, this.pace);
    const bm25 = new Map<number, number>();
    for (let i = 0; i < best.slots.length; i++) bm25.set(best.slots[i]!, best.scores[i]!);
    for (const slot of near.slots) bm25.delete(slot);
    const others = await this.#ranked(Uint32Array.from(bm25.keys()));
    return blend(
      joined(near, others),
      floats(
        scores,
        Float64Array.from(others.slots, (slot) => bm25.get(slot)!),
      ),
      k,
    );
  }

  async #nearest(n: number): Promise<Found> {
    const { searched, query, decay, eligible } = this;
    if (decay === undefined) return searched.index.search(query, n, eligible);
    const { vectors, index, insertions } = searched;
    const insertedMsOf = (slot: number): number => insertions.of(slot);
    const newestMsIn = (block: number): number => insertions.newestIn(block);
    const young = (): Young | undefined => insertions.young;
    return nearestDecayed({ vectors, index, insertedMsOf, newestMsIn, young }, query, n, decay, eligible, nextTurn);
  }

  /** Those of the slots that live, by distance. */
  async #ranked(slots: Uint32Array): Promise<Found> {
    const ranked = await this.searched.vectors.rank(this.query, slots.length, slots, nextTurn);
    return this.decay === undefined ? ranked : this.#aged(ranked, this.decay);
  }

  #aged(hits: Hits, decay: Decay): Found {
    return aged(hits, (slot) => this.searched.insertions.of(slot), decay);
  }
}

/** One after the other; not in order any more. */
function joined(one: Found, other: Found): Found {
  const slots = new Uint32Array(one.slots.length + other.slots.length);
  slots.set(one.slots);
  slots.set(other.slots, one.slots.length);
  const hits = { ids: floats(one.ids, other.ids), slots, scores: floats(one.scores, other.scores) };
  if (one.aged === undefined || other.aged === undefined) return hits;
  const { factors, agesSecs } = other.aged;
  return {
    ...hits,
    aged: { factors: floats(one.aged.factors, factors), agesSecs: floats(one.aged.agesSecs, agesSecs) },
  };
}

function floats(one: Float64Array, other: Float64Array): Float64Array {
  const both = new Float64Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
