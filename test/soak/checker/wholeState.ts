/**
 * Answers that depend on all live records of one state: pages of ordered lists, and searches by text. It computes each answer for one
 * state, in the simplest way.
 */
import { answerOf } from '../history/asked.js';
import type { ListCall, OrderedRecord } from '../history/lists.js';
import type { HybridCall, TextCall } from '../history/texts.js';
import { distance } from './distance.js';
import type { CollectionLog } from './log.js';
import type { ModelRecord } from './modelRecord.js';
import { storedIn } from './stored.js';

/** A call about a whole state. */
export type StateQuestion = ListCall | TextCall | HybridCall;

/** A live record of a state. The metadata of an encrypted one is null. */
interface Live {
  readonly id: number;
  readonly vector: readonly number[] | undefined;
  readonly metadata: { readonly color: number; readonly mark: number } | null;
  /** Words of its text; empty without a text. */
  readonly words: readonly string[];
}

interface Matched {
  readonly id: number;
  readonly distance: number;
  readonly bm25: number;
}

/** The parameters of BM25, of the candidates of a fusion, and of its ranks, as `docs/search.md` has them. */
const K1 = 1.5;
const B = 0.75;
const CANDIDATES_PER_HIT = 20;
const CANDIDATES_MAX = 5_000;
const RANK_OFFSET = 60;

export class WholeState {
  constructor(
    private readonly log: CollectionLog,
    private readonly records: readonly (ModelRecord | undefined)[],
  ) {}

  /** First sequence from `from` to `to` at which the answer was true. */
  first(question: StateQuestion, from: number, to: number): number | undefined {
    for (let sequence = from; sequence <= to; sequence++)
      if (this.#isTrue(question, this.#liveAt(sequence))) return sequence;
    return undefined;
  }

  #isTrue(question: StateQuestion, live: readonly Live[]): boolean {
    switch (question.op) {
      case 'list':
        return isPage(question, live);
      case 'searchText':
        return isEqual(textsFound(question, live), answerOf(question));
      case 'searchHybrid':
        return isEqual(this.#fused(question, live), answerOf(question));
    }
  }

  #liveAt(sequence: number): Live[] {
    return this.records.flatMap((record) => {
      if (record === undefined || record.bornAt > sequence || record.diedAt <= sequence) return [];
      const { id, vector, words, versions } = record;
      return [{ id, vector, words, metadata: versions.findLast(({ from }) => from <= sequence) ?? null }];
    });
  }

  #fused({ query, words, k, color, weight, fusion }: HybridCall, live: readonly Live[]) {
    const stored = storedIn(this.log, query);
    const scores = bm25Of(words, live);
    const all = live.flatMap(({ id, vector, metadata }): Matched[] =>
      vector !== undefined && isOf(color, metadata)
        ? [{ id, distance: distance(vector, stored), bm25: scores.get(id) ?? 0 }]
        : [],
    );
    const count = Math.min(CANDIDATES_PER_HIT * k, CANDIDATES_MAX);
    const nearest = all.sort(byDistance).slice(0, count);
    const matching = all
      .filter(({ bm25 }) => bm25 > 0)
      .sort(byText)
      .slice(0, count);
    const candidates = [...new Set([...nearest, ...matching])];
    const parts = fusion === 'rrf' ? rankedParts(candidates) : blendedParts(candidates);
    const sums = new Map(candidates.map((hit) => [hit, (1 - weight) * parts.near(hit) + weight * parts.matching(hit)]));
    const best = candidates.sort((a, b) => sums.get(b)! - sums.get(a)! || byDistance(a, b)).slice(0, k);
    return {
      ids: best.map(({ id }) => id),
      scores: best.map((hit) => hit.distance),
      textScores: best.map(({ bm25 }) => bm25),
    };
  }
}

const isEqual = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b);
const isOf = (color: number | null, metadata: Live['metadata']): boolean => color === null || metadata?.color === color;
const byDistance = (a: Matched, b: Matched): number => a.distance - b.distance || a.id - b.id;
const byText = (a: Matched, b: Matched): number => b.bm25 - a.bm25 || a.id - b.id;

/** A page may lack records that were written while it was made. Then it has a `next`. */
function isPage({ orderBy, isDescending, limit, color, after, ...call }: ListCall, live: readonly Live[]): boolean {
  const { records, next } = answerOf(call as ListCall);
  const isBefore = (a: OrderedRecord, b: OrderedRecord): boolean => {
    if (a.value === b.value) return a.id < b.id;
    if (a.value === null || b.value === null) return b.value === null;
    return isDescending ? a.value > b.value : a.value < b.value;
  };
  const rest = live
    .filter(({ metadata }) => isOf(color, metadata))
    .map(({ id, metadata }): OrderedRecord => ({ id, value: metadata?.[orderBy] ?? null }))
    .filter((record) => after === null || isBefore(after.last, record))
    .sort((a, b) => (isBefore(a, b) ? -1 : 1));
  const page = rest.slice(0, limit);
  if (records.length < limit && next !== null) {
    const shown = new Set(records.map(({ id }) => id));
    return isEqual(
      page.filter(({ id }) => shown.has(id)),
      records,
    );
  }
  return isEqual(page, records) && (next === null) === rest.length <= limit;
}

function textsFound({ words, k, color }: TextCall, live: readonly Live[]) {
  const scores = bm25Of(words, live);
  const hits = live
    .filter(({ id, metadata }) => scores.has(id) && isOf(color, metadata))
    .sort((a, b) => scores.get(b.id)! - scores.get(a.id)! || a.id - b.id)
    .slice(0, k);
  return { ids: hits.map(({ id }) => id), textScores: hits.map(({ id }) => scores.get(id)!) };
}

/** BM25 of the records that have one of the words. */
function bm25Of(words: readonly string[], live: readonly Live[]): ReadonlyMap<number, number> {
  const texts = live.filter((record) => record.words.length > 0);
  const averageLength = texts.reduce((sum, text) => sum + text.words.length, 0) / texts.length;
  const scores = new Map<number, number>();
  for (const word of words) {
    const counts = texts.map((text) => text.words.filter((each) => each === word).length);
    const having = counts.filter((count) => count > 0).length;
    const idf = Math.log(1 + (texts.length - having + 0.5) / (having + 0.5));
    for (const [i, { id, words: all }] of texts.entries()) {
      const count = counts[i]!;
      const score = (idf * count * (K1 + 1)) / (count + K1 * (1 - B + (B * all.length) / averageLength));
      if (count > 0) scores.set(id, (scores.get(id) ?? 0) + score);
    }
  }
  return scores;
}

interface Parts {
  near(hit: Matched): number;
  matching(hit: Matched): number;
}

function blendedParts(candidates: readonly Matched[]): Parts {
  const range = (of: (hit: Matched) => number): [least: number, width: number] => {
    const values = candidates.map(of);
    const least = Math.min(...values);
    return [least, Math.max(...values) - least];
  };
  const [nearest, distances] = range((hit) => hit.distance);
  const [least, scores] = range((hit) => hit.bm25);
  return {
    near: (hit) => 1 - (distances === 0 ? 0 : (hit.distance - nearest) / distances),
    matching: (hit) => (scores === 0 ? 0 : (hit.bm25 - least) / scores),
  };
}

function rankedParts(candidates: readonly Matched[]): Parts {
  const near = [...candidates].sort(byDistance);
  const matching = candidates.filter(({ bm25 }) => bm25 > 0).sort(byText);
  const part = (order: readonly Matched[], hit: Matched): number =>
    order.includes(hit) ? 1 / (RANK_OFFSET + order.indexOf(hit) + 1) : 0;
  return { near: (hit) => part(near, hit), matching: (hit) => part(matching, hit) };
}
