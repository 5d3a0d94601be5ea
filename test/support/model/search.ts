/** All of search, slow and simple: it examines every record and sorts everything. */
import type { Json } from '../../../shared/model/filter.js';
import { bm25 } from './bm25.js';
import { scoreOf, totalOf } from './distance.js';
import { matches } from './filter.js';
import type { Direction } from './graph.js';
import type { ModelCollection, ModelRecord } from './records.js';

/** A request as sent, without `collection`. */
export interface ModelRequest {
  readonly query: readonly number[];
  readonly k: number;
  readonly rerank?: boolean;
  readonly query_text?: string;
  readonly hybrid?: boolean | { readonly text_weight?: number; readonly fusion?: 'blend' | 'rrf' };
  readonly decay_half_life_secs?: number;
  readonly metadata_filter?: { readonly [key: string]: Json };
  readonly graph_rerank?: {
    readonly weight?: number;
    readonly seed_count?: number;
    readonly max_depth?: number;
    readonly direction?: Direction;
  };
}

/** A hit as answered. */
export interface ModelHit {
  readonly id: number;
  readonly score: number;
  readonly decay_factor?: number;
  readonly age_secs?: number;
  readonly text_score?: number;
  readonly graph_distance?: number | null;
}

interface Candidate {
  readonly record: ModelRecord;
  /** Exact squared distance, times 2^32. */
  readonly total: bigint;
  readonly hit: ModelHit;
  /** Sort key: the score, decayed if asked for. */
  readonly distance: number;
}

type Order = (a: Candidate, b: Candidate) => number;

const HALVINGS_MAX = 900;
const POOL_PER_RESULT = 20;
const POOL_MAX = 5_000;

/** Number of records that a text may reorder. */
export const poolSizeOf = (k: number): number => Math.min(POOL_PER_RESULT * k, POOL_MAX);

const compare = <T extends number | bigint>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/** Sorts by distance, then by exact score, then by id. */
const byDistance: Order = (a, b) =>
  compare(a.distance, b.distance) || compare(a.total, b.total) || compare(a.record.id, b.record.id);

/** Answer of the service to a request at `nowMs`. */
export function search(collection: ModelCollection, request: ModelRequest, nowMs: number): ModelHit[] {
  const { k, graph_rerank } = request;
  const nearest = candidatesOf(collection, request, nowMs).sort(byDistance);
  const best =
    textOf(collection, request) === undefined ? scored(request, nearest) : fused(collection, request, nearest);
  const top = best.slice(0, k);
  return (graph_rerank === undefined ? top : byGraph(collection, graph_rerank, top)).map(({ hit }) => hit);
}

/** Every live record that satisfies the filter, unordered. */
export function candidatesOf(
  { live }: ModelCollection,
  { query, metadata_filter: filter, decay_half_life_secs: halfLifeSecs }: ModelRequest,
  nowMs: number,
): Candidate[] {
  const eligible = filter === undefined ? live : live.filter(({ metadata, text }) => matches(filter, metadata, text));
  return eligible.map((record) => {
    const total = totalOf(query, record.values);
    const hit = { id: record.id, score: scoreOf(total) };
    if (!halfLifeSecs) return { record, total, hit, distance: hit.score };
    const age_secs = Math.max(0, Math.floor((nowMs - record.insertedMs) / 1000));
    const decay_factor = 2 ** -Math.min(age_secs / halfLifeSecs, HALVINGS_MAX);
    return { record, total, hit: { ...hit, decay_factor, age_secs }, distance: hit.score / decay_factor };
  });
}

/** Text of the query, if it takes effect: reranking is not off, and some record has a text. */
function textOf({ live }: ModelCollection, { rerank, query_text }: ModelRequest): string | undefined {
  return rerank === false || live.every(({ text }) => text === null) ? undefined : query_text || undefined;
}

/** Adds a text score of 0 where the request asks for text scores. */
const scored = ({ hybrid }: ModelRequest, nearest: readonly Candidate[]): readonly Candidate[] =>
  typeof hybrid === 'object' ? nearest.map((one) => ({ ...one, hit: { ...one.hit, text_score: 0 } })) : nearest;

/** The live records with a word of the query, best first. */
export function searchTexts(
  { live }: ModelCollection,
  {
    k,
    query_text,
    metadata_filter: filter,
  }: Pick<ModelRequest, 'k' | 'metadata_filter'> & { readonly query_text: string },
): { readonly id: number; readonly text_score: number }[] {
  const relevance = bm25(query_text, textsOf(live));
  return live
    .filter(({ metadata, text }) => filter === undefined || matches(filter, metadata, text))
    .map(({ id }) => ({ id, text_score: relevance.get(id) ?? 0 }))
    .filter(({ text_score }) => text_score > 0)
    .sort((a, b) => b.text_score - a.text_score || a.id - b.id)
    .slice(0, k);
}

const textsOf = (live: ModelCollection['live']): Map<number, string> =>
  new Map(live.flatMap(({ id, text }) => (text === null ? [] : [[id, text] as const])));

function fused(collection: ModelCollection, request: ModelRequest, nearest: readonly Candidate[]): Candidate[] {
  const relevance = bm25(request.query_text as string, textsOf(collection.live));
  const relevanceOf = ({ record }: Candidate): number => relevance.get(record.id) ?? 0;
  const poolSize = poolSizeOf(request.k);
  const byRelevance: Order = (a, b) => compare(relevanceOf(b), relevanceOf(a)) || compare(a.record.id, b.record.id);
  const matching = nearest.filter((one) => relevanceOf(one) > 0).sort(byRelevance);
  const pool = new Set([...nearest.slice(0, poolSize), ...(request.hybrid ? matching.slice(0, poolSize) : [])]);
  const { text_weight: weight = 0.5, fusion = 'blend' } = typeof request.hybrid === 'object' ? request.hybrid : {};
  const [near, match] = (fusion === 'rrf' ? rankedParts : blendedParts)([...pool], relevanceOf, byRelevance);
  const sums = new Map([...pool].map((one) => [one, (1 - weight) * near(one) + weight * match(one)]));
  const bySum: Order = (a, b) => compare(sums.get(b) as number, sums.get(a) as number) || byDistance(a, b);
  const best = [...pool].sort(bySum);
  if (typeof request.hybrid !== 'object') return best;
  return best.map((one) => ({ ...one, hit: { ...one.hit, text_score: relevanceOf(one) } }));
}

type Part = (one: Candidate) => number;

function blendedParts(pool: readonly Candidate[], relevanceOf: Part): [near: Part, match: Part] {
  const farness = normaliser(pool.map(({ distance }) => distance));
  const match = normaliser(pool.map(relevanceOf));
  return [(one) => 1 - farness(one.distance), (one) => match(relevanceOf(one))];
}

function rankedParts(pool: readonly Candidate[], relevanceOf: Part, byRelevance: Order): [near: Part, match: Part] {
  const matching = pool.filter((one) => relevanceOf(one) > 0).sort(byRelevance);
  const near = [...pool].sort(byDistance);
  const part =
    (order: readonly Candidate[]): Part =>
    (one) =>
      order.includes(one) ? 1 / (60 + 1 + order.indexOf(one)) : 0;
  return [part(near), part(matching)];
}

/** Maps a value to its position between the least and the greatest of `all`; 0 if these are equal. */
function normaliser(all: readonly number[]): (value: number) => number {
  const least = Math.min(...all);
  const greatest = Math.max(...all);
  return (value) => (least === greatest ? 0 : (value - least) / (greatest - least));
}

function byGraph(
  { graph }: ModelCollection,
  options: NonNullable<ModelRequest['graph_rerank']>,
  top: readonly Candidate[],
): Candidate[] {
  const weight = clamp(options.weight ?? 0.15, 0, 1);
  const seeds = top.slice(0, clamp(options.seed_count ?? 1, 1, 10)).flatMap(({ record }) => graph.nodesOf(record.id));
  const hops = graph.hopsFrom(seeds, options.direction ?? 'outgoing', clamp(options.max_depth ?? 2, 1, 4));
  const reached = top.map((one): Candidate => {
    const distances = graph.nodesOf(one.record.id).flatMap((node) => hops.get(node) ?? []);
    const graph_distance = distances.length === 0 ? null : Math.min(...distances);
    const distance = one.distance * (1 + weight * (graph_distance ?? 0));
    return { ...one, distance, hit: { ...one.hit, graph_distance } };
  });
  return reached.sort(byDistance);
}

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);
