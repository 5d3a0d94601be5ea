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
import { blend } from './blend.js';
import { aged } from './decay.js';
import type { InsertionTimes } from './decayTimes.js';
import type { Found } from './found.js';
import { nearestDecayed } from './nearestDecayed.js';

/** A collection as a search sees it. */
export interface Searched {
  readonly vectors: VectorBlocks;
  readonly index: Pick<CollectionIndex, 'search' | 'serving'>;
  readonly metadata: MetadataIndex;
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
  call: SearchCall,
  pace: () => Pace,
): Promise<Found> {
  const { filter, decay, text, graph, k } = call;
  if (filter === undefined && decay === undefined && text === undefined && graph === undefined)
    return searched.index.search(query, k);
  // Slots are passed from step to step: until the last one none of them may pass to another record.
  const scan = searched.vectors.beginScan();
  try {
    const eligible = filter === undefined ? undefined : searched.metadata.select(filter);
    const found = await new Steps(searched, query, decay, eligible).run(k, text);
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
  ) {}

  async run(k: number, text: TextQuery | undefined): Promise<Found> {
    const { texts } = this.searched;
    if (this.eligible?.count === 0) return NOTHING;
    if (text === undefined || texts.documents === 0) return this.#nearest(k);
    const matched = texts.match(text.query);
    const pool = Math.min(POOL_PER_RESULT * k, POOL_MAX);
    const near = await this.#nearest(pool);
    const all = text.hybrid ? await this.#joined(near, matched.best(pool, this.eligible)) : near;
    return blend(all, (slot) => matched.scoreOf(slot), k);
  }

  async #nearest(n: number): Promise<Found> {
    const { searched, query, decay, eligible } = this;
    if (decay === undefined) return searched.index.search(query, n, eligible);
    const { vectors, index, insertions } = searched;
    const insertedMsOf = (slot: number): number => insertions.of(slot);
    const newestMsIn = (block: number): number => insertions.newestIn(block);
    return nearestDecayed({ vectors, index, insertedMsOf, newestMsIn }, query, n, decay, eligible, nextTurn);
  }

  /** The pool, and what of the text's best is not in it. */
  async #joined(near: Found, best: Uint32Array): Promise<Found> {
    const { vectors } = this.searched;
    const known = new Set(near.slots);
    const others = best.filter((slot) => !known.has(slot));
    const ranked = await vectors.rank(this.query, others.length, others, nextTurn);
    return joined(near, this.decay === undefined ? ranked : this.#aged(ranked, this.decay));
  }

  #aged(hits: Hits, decay: Decay): Found {
    return aged(hits, (slot) => this.searched.insertions.of(slot), decay);
  }
}

/** One after the other; not in order any more. */
function joined(one: Found, other: Found): Found {
  const floats = (a: Float64Array, b: Float64Array): Float64Array => {
    const both = new Float64Array(a.length + b.length);
    both.set(a);
    both.set(b, a.length);
    return both;
  };
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
