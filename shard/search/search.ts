/**
 * Searches one collection, step by step. A step that a request does not name is skipped, and costs nothing.
 *
 * ```text
 * Filter ──▶ eligible ──▶ nearest (by decayed distance) ──▶ text or diversity ──▶ graph ──▶ best k
 *                 ├─────▶ groups of a metadata key ──▶ best of each.
 *                 └─────▶ best matches of a text alone.
 * ```
 */
import { VouchError } from '../../shared/errors/errors.js';
import { K_MAX } from '../../shared/limits.js';
import type { Decay, Grouping, SearchCall, TextQuery } from '../../shared/protocol/calls.js';
import { inSlices, type Slice, sliceTurns } from '../../shared/scheduling/slice.js';
import type { Graph } from '../graph/graph.js';
import type { CollectionIndex } from '../index/collectionIndex.js';
import { partition } from '../kernel/partition.js';
import { hitsOfLength } from '../kernel/scanScratch.js';
import { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { MetadataIndex } from '../metadata/metadataIndex.js';
import { valueTexts } from '../records/facets.js';
import { recordNamed, searchableSlot } from '../records/readRecords.js';
import type { CollectionState } from '../state/collectionState.js';
import type { OpenTextQuery } from '../text/openTextQuery.js';
import type { TextIndex } from '../text/textIndex.js';
import { aged } from './decay.js';
import { diverse } from './diverse.js';
import { componentsOf, type Found, type FoundFields, floats, hitsAt } from './found.js';
import { assertWithin, withExternalIds, withFields } from './foundFields.js';
import { fuse } from './fuse.js';
import { rerankByGraph } from './graphRerank.js';
import { groupedSearch } from './grouped.js';
import { type Decaying, nearestDecayed } from './nearestDecayed.js';
import { searchTexts } from './searchTexts.js';

/** Parts of a collection that a search reads. */
export interface Searched extends Decaying {
  readonly vectors: Decaying['vectors'] &
    Pick<VectorBlocks, 'beginScan' | 'endScan' | 'search' | 'rank' | 'gather' | 'shape' | 'vectorBytes' | 'vectorView'>;
  readonly index: Pick<CollectionIndex, 'search' | 'serving'>;
  readonly metadata: Pick<MetadataIndex, 'select' | 'values' | 'longValue'>;
  /** Records of these rows. */
  readonly records: CollectionState;
  readonly texts: TextIndex;
  readonly graph: Graph;
}

const TRIES_MAX = 3;
/** Records that the text may reorder, per result; at most K_MAX in all. */
const POOL_PER_RESULT = 20;

const poolOf = (k: number): number => Math.min(POOL_PER_RESULT * k, K_MAX);

/** The options of a search. */
export type SearchOptions = Omit<SearchCall, 'op' | 'query' | 'asOf' | 'tellSequence'>;

/** Whether the search requests the nearest `k` and nothing else. */
export const isPlain = ({
  filter,
  decay,
  text,
  graph,
  like,
  scoreMost,
  group,
  fields,
  diversity,
}: SearchOptions): boolean =>
  filter === undefined &&
  decay === undefined &&
  text === undefined &&
  graph === undefined &&
  like === undefined &&
  scoreMost === undefined &&
  group === undefined &&
  fields === undefined &&
  diversity === undefined;

/**
 * `query`: components; undefined for the vector of the record `like`. `slice` makes the slices of each part of the
 * work.
 */
export function searchCollection(
  searched: Searched,
  query: Int32Array | undefined,
  call: SearchOptions,
  slice: () => Slice,
): FoundFields | Promise<FoundFields> {
  if (query === undefined || !isPlain(call)) return searchInSteps(searched, query, call, slice);
  const found = searched.index.search(query, call.k);
  return found instanceof Promise
    ? found.then((hits) => withExternalIds(hits, searched.records))
    : withExternalIds(found, searched.records);
}

async function searchInSteps(
  searched: Searched,
  query: Int32Array | undefined,
  call: SearchOptions,
  slice: () => Slice,
): Promise<FoundFields> {
  for (let tries = 1; tries < TRIES_MAX; tries++) {
    const found = await searchOnce(searched, query, call, { slice, isLast: false });
    if (found !== undefined) return found;
  }
  // Records are being replaced all the time. This try takes the rows of one moment.
  const index = { serving: 'brute', search: exactSearch(searched) } as const;
  return (await searchOnce({ ...searched, index }, query, call, { slice, isLast: true }))!;
}

const exactSearch =
  ({ vectors }: Searched): Searched['index']['search'] =>
  (query, k, eligible) =>
    vectors.search(query, k, sliceTurns(), { eligible });

/** One try of a search. The last one is exact, and returns a result even if records are replaced meanwhile. */
interface Try {
  /** Makes the slices of each part of the work. */
  readonly slice: () => Slice;
  readonly isLast: boolean;
}

/**
 * Returns undefined if a record was replaced in a way that the search may have seen both of its contents, or neither.
 */
async function searchOnce(
  searched: Searched,
  query: Int32Array | undefined,
  call: SearchOptions,
  { slice, isLast }: Try,
): Promise<FoundFields | undefined> {
  const { vectors, records } = searched;
  const { replacements } = records.versions;
  // Slots are passed from step to step, so no slot may be reused until the last one.
  const scan = vectors.beginScan();
  try {
    const found = await (call.text?.alone
      ? searchTexts(searched, call.text, call, slice)
      : searchVectors(searched, targetOf(searched, query, call.like), call, slice));
    const hasSteps = call.decay !== undefined || call.text !== undefined || call.like !== undefined;
    if (hasSteps && !isLast && records.versions.replacements !== replacements) return undefined;
    if (call.maxBytes === undefined) return withExternalIds(found, records);
    return await withFields(found, records, call, { slice: slice(), isLast });
  } finally {
    vectors.endScan(scan);
  }
}

const searchVectors = (searched: Searched, target: Target, call: SearchOptions, slice: () => Slice): Promise<Found> =>
  isGrouped(call) ? searchGroups(searched, target, call, slice) : searchRecords(searched, target, call, slice);

type GroupedSearch = SearchOptions & { readonly group: Grouping };

const isGrouped = (call: SearchOptions): call is GroupedSearch => call.group !== undefined;

async function searchRecords(
  searched: Searched,
  target: Target,
  call: SearchOptions,
  slice: () => Slice,
): Promise<Found> {
  const { filter, text, graph, k } = call;
  // Await nothing before the first step: eligible rows and scanned rows are of one state.
  const eligible = filter === undefined ? undefined : (await searched.metadata.select(filter, slice()))();
  const steps = new SearchSteps(searched, { ...target, eligible }, call, slice);
  const found = await (call.diversity === undefined ? steps.run(k, text) : steps.diverse(k, call.diversity));
  if (graph === undefined) return found;
  await steps.rest();
  return rerankByGraph(found, searched.graph, graph, slice());
}

interface Target {
  /** Query components. */
  readonly query: Int32Array;
  /** Row and record that are left out. */
  readonly without: { readonly slot: number; readonly id: number } | undefined;
}

/** Throws `record_not_found`, and `validation_error` if the vector of `like` is needed and missing. */
function targetOf({ vectors, records }: Searched, query: Int32Array | undefined, like: SearchOptions['like']): Target {
  if (like === undefined) {
    if (query === undefined) throw new VouchError('validation_error', 'a search without a query');
    return { query, without: undefined };
  }
  const id = recordNamed(records, like);
  if (query !== undefined) {
    const slot = records.liveSlotOf(id);
    return { query, without: slot === undefined ? undefined : { slot, id } };
  }
  const slot = searchableSlot(records, id);
  return { query: componentsOf(vectors.vectorBytes(slot)), without: { slot, id } };
}

async function searchGroups(
  { vectors, metadata, insertions }: Searched,
  { query, without }: Target,
  { filter, decay, k, scoreMost, group, maxBytes = Number.POSITIVE_INFINITY }: GroupedSearch,
  slice: () => Slice,
): Promise<Found> {
  const { key, size } = group;
  for (;;) {
    const resting = slice();
    // From here on all is of one state: the rows are kept, and these sets belong to this search.
    const { values, matching: eligible } = (await metadata.values(key, filter, resting))();
    const having = SlotSet.of(vectors.shape, values.slots);
    const rows = eligible === undefined ? having : having.intersection(eligible);
    if (without !== undefined) rows.delete(without.slot);
    const asked = { query, k, size, decay, scoreMost };
    const { found, groups, of } = await groupedSearch({ vectors, insertions, values, rows }, asked, resting);
    const texts = await valueTexts(
      { metadata, key, values },
      groups,
      (bytes) => assertWithin(bytes, maxBytes),
      resting,
    );
    // A long string is read from a record that has it. If that record was written since, everything is searched again.
    if (texts === undefined) continue;
    return { ...found, groups: { of, values: texts } };
  }
}

/** Selects, and sets `seen` to the sequence of the state of the selection, and so of the search. */
export const notedSelection = (
  metadata: Searched['metadata'],
  journal: { readonly seenSequence: number },
  seen: { sequence: number },
): Searched['metadata'] => ({
  longValue: (...of) => metadata.longValue(...of),
  values: async (path, filter, slice) => {
    const values = await metadata.values(path, filter, slice);
    return () => {
      seen.sequence = journal.seenSequence;
      return values();
    };
  },
  select: async (filter, slice) => {
    const selected = await metadata.select(filter, slice);
    return () => {
      seen.sequence = journal.seenSequence;
      return selected();
    };
  },
});

/** The rows that a search may find. */
interface Wanted extends Target {
  /** Undefined: all live rows. */
  readonly eligible: SlotSet | undefined;
}

class SearchSteps {
  /** Shared slice, since each step may take a millisecond or two if `k` is large, and they must not add up. */
  readonly #resting: Slice;

  constructor(
    private readonly searched: Searched,
    private readonly wanted: Wanted,
    private readonly call: SearchOptions,
    private readonly slice: () => Slice,
  ) {
    this.#resting = slice();
  }

  /** Yields between two steps. */
  async rest(): Promise<void> {
    if (this.#resting.due) await this.#resting.next();
  }

  get #decay(): Decay | undefined {
    return this.call.decay;
  }

  async run(k: number, text: TextQuery | undefined): Promise<Found> {
    const { texts } = this.searched;
    if (this.wanted.eligible?.count === 0) return hitsOfLength(0);
    if (text === undefined) return this.#nearest(k);
    if (texts.documents === 0) return unmatched(await this.#nearest(k), text);
    // Open the texts first: they are as of the call, like the rows of a scan, whatever is written since.
    const matches = texts.openQuery(text.query, text.terms);
    try {
      return matches.isEmpty ? unmatched(await this.#nearest(k), text) : await this.#fused(k, matches, text);
    } finally {
      matches.close();
    }
  }

  /** Returns near hits that are far from one another. */
  async diverse(k: number, diversity: number): Promise<Found> {
    const near = await this.#near(k);
    await this.rest();
    return inSlices(
      diverse(near, k, diversity, (slot) => this.searched.vectors.vectorView(slot)),
      this.slice(),
    );
  }

  /** Returns the candidates for `k` hits. */
  #near(k: number): Promise<Found> {
    return this.wanted.eligible?.count === 0 ? Promise.resolve(hitsOfLength(0)) : this.#nearest(poolOf(k));
  }

  async #fused(k: number, matches: OpenTextQuery, { hybrid, fusion }: TextQuery): Promise<Found> {
    const pool = poolOf(k);
    const near = await this.#nearest(pool);
    await this.rest();
    if (!hybrid) {
      const scores = await matches.scores(near.slots, this.slice);
      await this.rest();
      return inSlices(fuse({ hits: near, bm25: scores }, k), this.#resting);
    }
    const { best, scores } = await matches.best(pool, this.wanted.eligible, near.slots, this.slice);
    await this.rest();
    const bm25 = new Map<number, number>();
    for (let i = 0; i < best.slots.length; i++) bm25.set(best.slots[i]!, best.scores[i]!);
    for (const slot of near.slots) bm25.delete(slot);
    if (this.wanted.without !== undefined) bm25.delete(this.wanted.without.slot);
    const others = within(await this.#ranked(Uint32Array.from(bm25.keys())), this.call.scoreMost);
    await this.rest();
    const othersBm25 = floats(others.slots.length, (i) => bm25.get(others.slots[i]!)!);
    const textScores = concatenated(scores, othersBm25);
    const candidates = joined(near, others);
    const hits = fusion === undefined ? candidates : { ...candidates, textScores };
    return inSlices(fuse({ hits, bm25: textScores }, k, fusion), this.#resting);
  }

  async #nearest(n: number): Promise<Found> {
    const { searched, call } = this;
    const { query, without, eligible } = this.wanted;
    const most = without === undefined ? n : n + 1;
    const found =
      this.#decay === undefined
        ? within(await searched.index.search(query, most, eligible), call.scoreMost)
        : await nearestDecayed(
            searched,
            { query, n: most, decay: this.#decay, eligible, scoreMost: call.scoreMost },
            sliceTurns(),
          );
    return without === undefined ? found : leftOut(found, without.id, n);
  }

  /** Returns the live rows among the slots, by distance. */
  async #ranked(slots: Uint32Array): Promise<Found> {
    const ranked = await this.searched.vectors.rank(this.wanted.query, slots.length, { slots }, sliceTurns());
    return this.#decay === undefined ? ranked : aged(ranked, this.searched.insertions, this.#decay);
  }
}

/** Returns hits in texts without any word of the query. */
const unmatched = (found: Found, { fusion }: TextQuery): Found =>
  fusion === undefined ? found : { ...found, textScores: new Float64Array(found.ids.length) };

/** Returns the hits with scores up to the largest one. They are in the order of their scores. */
function within(found: Found, scoreMost: number | undefined): Found {
  if (scoreMost === undefined) return found;
  const { scores } = found;
  const end = partition(scores.length, (i) => scores[i]! <= scoreMost);
  return end === scores.length
    ? found
    : hitsAt(
        found,
        places(end, (i) => i),
      );
}

/** Returns the first `n` hits without the record. */
function leftOut(found: Found, recordId: number, n: number): Found {
  const at = found.ids.indexOf(recordId);
  const count = Math.min(n, at < 0 ? found.slots.length : found.slots.length - 1);
  return hitsAt(
    found,
    places(count, (i) => (at >= 0 && i >= at ? i + 1 : i)),
  );
}

const places = (count: number, place: (i: number) => number): Uint32Array => {
  const made = new Uint32Array(count);
  for (let i = 0; i < count; i++) made[i] = place(i);
  return made;
};

/** Returns the hits of one, then those of the other, which are aged if the first ones are. */
function joined(one: Found, other: Found): Found {
  const slots = concatenated(one.slots, other.slots);
  const hits = { ids: concatenated(one.ids, other.ids), slots, scores: concatenated(one.scores, other.scores) };
  if (one.aged === undefined || other.aged === undefined) return hits;
  const factors = concatenated(one.aged.factors, other.aged.factors);
  return { ...hits, aged: { factors, agesSecs: concatenated(one.aged.agesSecs, other.aged.agesSecs) } };
}

function concatenated<Column extends Float64Array | Uint32Array>(one: Column, other: Column): Column {
  const both = new (one.constructor as new (length: number) => Column)(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
