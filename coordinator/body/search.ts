/** Turns validated searches into calls to the shard. The handler adds the present time to those with decay. */
import { type Scale, searchedDistance } from '../../shared/fixedPoint.js';
import {
  BATCH_CONDITIONS_MAX,
  BATCH_CONTAINS_MAX,
  BATCH_FILTER_BYTES_MAX,
  BATCH_TEXT_BYTES_MAX,
  BATCH_VALUES_MAX,
  DIVERSE_MAX,
  HITS_MAX,
  JSON_KEY_MAX_BYTES,
} from '../../shared/limits.js';
import type { RecordName } from '../../shared/model/recordName.js';
import type {
  AsOf,
  Fusion,
  GraphRerank,
  Grouping,
  SearchBatchCall,
  SearchCall,
  TextQuery,
} from '../../shared/protocol/calls.js';
import { filterOf, nothingSpent, type Spent } from '../contract/filter.js';
import { invalid } from '../contract/refusal.js';
import type {
  GraphRerankOptions,
  HybridOptions,
  MultiSearchRequest,
  RecordInCollection,
  SearchBatchRequest,
  SearchOptions,
  SearchRequest,
  TextSearchRequest,
} from '../contract/search.js';
import { type BodyBounds, checkedUtf8Size, fieldBytesMax } from './bounds.js';
import { instantMs } from './instant.js';
import { externalIdOf, oneRecord } from './recordNames.js';
import { dimensionOf, rowOf, type TakenVectors } from './vectors.js';

interface Prepared {
  /** The query's dimension; null: the query is the vector of a record. */
  readonly dimension: number | null;
  /** Null: no decay. */
  readonly halfLifeSecs: number | null;
}

export interface PreparedSearch extends Prepared {
  readonly collection: string | null;
  readonly scale: Scale;
  readonly call: Omit<SearchCall, 'decay'>;
}

/** The record whose vector is searched for in several collections. */
export interface LikedRecord {
  readonly collection: string;
  readonly of: RecordName;
}

export interface PreparedMultiSearch extends Prepared {
  readonly collections: readonly string[];
  /** The call to collections that store vectors as they are given. */
  readonly call: Omit<SearchCall, 'decay'>;
  /** The call to collections that normalise; `bodyPool.ts` adds it if one of `collections` does. */
  readonly unit?: Omit<SearchCall, 'decay'>;
  readonly like: LikedRecord | null;
}

export interface PreparedSearchBatch {
  readonly collection: string | null;
  readonly scale: Scale;
  readonly searches: readonly (Prepared & { readonly call: Omit<SearchCall, 'decay'> })[];
  readonly call: Omit<SearchBatchCall, 'searches'>;
}

/**
 * A call under construction. Only requested fields are set, since most searches have no options. Objects are not spread: that
 * would cost a search more than all other work here.
 */
type Draft = { -readonly [Key in keyof SearchCall]: SearchCall[Key] };

/** Throws `validation_error`. */
export function prepareSearch(request: SearchRequest, bounds: BodyBounds, taken: TakenVectors): PreparedSearch {
  const call = callOf(request, bounds, taken, { path: '$' });
  const asOf = asOfOf(request);
  if (asOf !== undefined) call.asOf = asOf;
  if (call.fields !== undefined || call.group !== undefined) call.maxBytes = fieldBytesMax(bounds);
  // The answer of an eventual search contains the sequence of the searched state.
  if (isEventual(request)) call.tellSequence = true;
  return {
    dimension: dimensionIn(call),
    halfLifeSecs: halfLifeOf(request),
    collection: request.collection ?? null,
    scale: taken.scale,
    call,
  };
}

export interface PreparedTextSearch {
  readonly collection: string | null;
  readonly call: SearchCall;
}

/** Throws `validation_error`. */
export function prepareTextSearch(request: TextSearchRequest, bounds: BodyBounds): PreparedTextSearch {
  const { collection = null, query_text, k, metadata_filter, with: fields } = request;
  checkedUtf8Size(query_text, bounds.textBytes, '$.query_text');
  const call: Draft = { op: 'search', k, text: { query: query_text, hybrid: false, alone: true } };
  if (metadata_filter) call.filter = filterOf(metadata_filter);
  if (fields?.length) {
    call.fields = fields;
    call.maxBytes = fieldBytesMax(bounds);
  }
  const asOf = asOfOf(request);
  if (asOf !== undefined) call.asOf = asOf;
  if (isEventual(request)) call.tellSequence = true;
  return { collection, call };
}

/** Throws `validation_error`. */
export function prepareSearchBatch(
  request: SearchBatchRequest,
  bounds: BodyBounds,
  taken: TakenVectors,
): PreparedSearchBatch {
  const sums: BatchSums = { hits: 0, textBytes: 0, ...nothingSpent() };
  const searches = request.searches.map((each, i) => {
    const spent = nothingSpent();
    const call = callOf(each, bounds, taken, { path: `$.searches[${i}]`, spent });
    addToBatch(sums, call, spent, bounds);
    return { dimension: dimensionIn(call), halfLifeSecs: halfLifeOf(each), call };
  });
  const asOf = asOfOf(request);
  return {
    collection: request.collection ?? null,
    scale: taken.scale,
    searches,
    call: {
      op: 'searchBatch',
      maxBytes: fieldBytesMax(bounds),
      ...(isEventual(request) ? { eventual: true } : {}),
      ...(asOf === undefined ? {} : { asOf }),
    },
  };
}

/** Sums over the searches of a batch. */
interface BatchSums extends Spent {
  hits: number;
  textBytes: number;
}

/** Throws `validation_error` once the searches so far exceed a bound of the batch. */
function addToBatch(sums: BatchSums, { k, group, text }: Draft, spent: Spent, { textBytes }: BodyBounds): void {
  sums.hits += hitsOf({ k, group });
  sums.textBytes += text === undefined ? 0 : Buffer.byteLength(text.query, 'utf8');
  sums.conditions += spent.conditions;
  sums.contains += spent.contains;
  sums.values += spent.values;
  sums.bytes += spent.bytes;
  const bounded = [
    [sums.hits, HITS_MAX, 'ask for', 'hits'],
    [sums.conditions, BATCH_CONDITIONS_MAX, 'have', 'conditions in their filters'],
    [sums.contains, BATCH_CONTAINS_MAX, 'have', 'conditions with contains or words in their filters'],
    [sums.values, BATCH_VALUES_MAX, 'have', 'values in their filters'],
    [sums.bytes, BATCH_FILTER_BYTES_MAX, 'have', 'bytes of keys and strings in their filters'],
    [sums.textBytes, Math.max(BATCH_TEXT_BYTES_MAX, textBytes), 'have', 'bytes of query texts'],
  ] as const;
  for (const [sum, most, verb, things] of bounded)
    if (sum > most) throw invalid(`$.searches: together they ${verb} more than the ${most} ${things} allowed`);
}

/** The buffers of the queries, which are transferred instead of copied. */
export const searchBatchBuffers = ({ searches }: PreparedSearchBatch): ArrayBufferLike[] =>
  searches.flatMap(({ call }) => (call.query === undefined ? [] : [call.query.buffer]));

/** Throws `validation_error`. */
export function prepareMultiSearch(
  request: MultiSearchRequest,
  bounds: BodyBounds,
  taken: TakenVectors,
): PreparedMultiSearch {
  const { query, like, collections } = request;
  const call = draftOf(request, taken, '$');
  if (call.fields !== undefined) call.maxBytes = Math.floor(fieldBytesMax(bounds) / new Set(collections).size);
  if (isEventual(request)) call.tellSequence = true;
  return {
    dimension: dimensionIn(call),
    halfLifeSecs: halfLifeOf(request),
    collections,
    call,
    like: query ? null : likedRecord(like!),
  };
}

const isEventual = ({ consistency }: Pick<SearchRequest, 'consistency'>): boolean =>
  consistency === 'eventual' || consistency === 'local';

/** A search's place in its request. */
interface SearchPlace {
  /** Names the search in errors. */
  readonly path: string;
  /** The sums of a batch to which its filter is added. */
  readonly spent?: Spent;
}

function callOf(request: SearchOptions, bounds: BodyBounds, taken: TakenVectors, { path, spent }: SearchPlace): Draft {
  const call = draftOf(request, taken, path, spent);
  const text = textOf(request, bounds, path);
  const group = groupOf(request, path);
  if (request.like != null) call.like = request.like;
  if (request.like_external_id != null) call.like = externalIdOf(request.like_external_id, `${path}.like_external_id`);
  if (text !== undefined) call.text = text;
  if (request.graph_rerank) call.graph = clamped(request.graph_rerank);
  if (group !== undefined) call.group = group;
  if (request.diversity) call.diversity = diversityOf(request.diversity, call, path);
  if (call.group !== undefined && (call.text !== undefined || call.graph !== undefined))
    throw invalid(`${path}.group_by orders groups by distance only; leave out query_text and graph_rerank`);
  if (hitsOf(call) > HITS_MAX)
    throw invalid(`${path}.group_size: ${hitsOf(call)} hits in all groups, and at most ${HITS_MAX} are allowed`);
  return call;
}

function diversityOf(diversity: number, { k, text, group }: Draft, path: string): number {
  if (text !== undefined || group !== undefined)
    throw invalid(`${path}.diversity compares distances only; leave out query_text and group_by`);
  if (k > DIVERSE_MAX)
    throw invalid(`${path}.k: with diversity at most ${DIVERSE_MAX} hits are allowed, and k is ${k}`);
  return diversity;
}

/** The options of a search in one collection or in several. */
function draftOf(request: SearchOptions | MultiSearchRequest, taken: TakenVectors, path: string, spent?: Spent): Draft {
  const { query, k, metadata_filter, score_threshold, with: fields } = request;
  assertOneOf(request, path);
  const call: Draft = query
    ? { op: 'search', query: rowOf(query, taken, `${path}.query`).bytes, k }
    : { op: 'search', k };
  if (metadata_filter) call.filter = filterOf(metadata_filter, `${path}.metadata_filter`, spent);
  if (score_threshold != null) call.scoreMost = searchedDistance(score_threshold, taken.scale);
  if (fields?.length) call.fields = fields;
  return call;
}

const dimensionIn = ({ query }: Draft): number | null => (query === undefined ? null : dimensionOf(query));

const halfLifeOf = ({ decay_half_life_secs }: SearchOptions | MultiSearchRequest): number | null =>
  decay_half_life_secs || null;

function assertOneOf({ query, like, ...others }: SearchOptions | MultiSearchRequest, path: string): void {
  const { like_external_id: external, query_text: text } = others as SearchOptions;
  if (query == null && like == null && external == null) {
    const advice = text == null ? '' : '; POST /v1/search/text searches by query_text alone';
    throw invalid(`${path}.query is missing: expected an array of numbers, or a record in ${path}.like${advice}`);
  }
  if (query != null && (like ?? external) != null)
    throw invalid(
      `${path}.like${like == null ? '_external_id' : ''}: the query is given already; leave out one of the two`,
    );
  if (like != null && external != null)
    throw invalid(`${path}.like_external_id: ${path}.like names the record already; leave out one of the two`);
}

function likedRecord({ collection, ...name }: RecordInCollection): LikedRecord {
  return { collection, of: oneRecord(name, '$.like.') };
}

const GROUP_SIZE = 3;

function groupOf({ group_by, group_size }: SearchOptions, path: string): Grouping | undefined {
  if (group_by != null) {
    checkedUtf8Size(group_by, JSON_KEY_MAX_BYTES, `${path}.group_by`);
    return { key: group_by, size: group_size ?? GROUP_SIZE };
  }
  if (group_size != null) throw invalid(`${path}.group_size: needs a group_by`);
  return undefined;
}

const hitsOf = ({ k, group }: Pick<SearchCall, 'k' | 'group'>): number => k * (group?.size ?? 1);

function textOf(
  { query_text, rerank, hybrid }: SearchOptions,
  bounds: BodyBounds,
  path: string,
): TextQuery | undefined {
  const isReranked = rerank !== false && Boolean(query_text);
  if (hybrid && !isReranked) throw invalid(`${path}.hybrid needs a query_text; leave out rerank: false`);
  if (!isReranked) return undefined;
  checkedUtf8Size(query_text!, bounds.textBytes, `${path}.query_text`);
  const text = { query: query_text!, hybrid: Boolean(hybrid) };
  return typeof hybrid === 'object' && hybrid !== null ? { ...text, fusion: fusionOf(hybrid) } : text;
}

const TEXT_WEIGHT = 0.5;

const fusionOf = ({ text_weight, fusion }: HybridOptions): Fusion => ({
  by: fusion ?? 'blend',
  textWeight: text_weight ?? TEXT_WEIGHT,
});

/** The instant is checked even if the log index takes precedence. */
function asOfOf({ as_of, as_of_log_index }: Pick<SearchRequest, 'as_of' | 'as_of_log_index'>): AsOf | undefined {
  const timeMs = as_of == null ? undefined : instantMs(as_of, '$.as_of');
  if (as_of_log_index != null) return { logIndex: as_of_log_index };
  return timeMs === undefined ? undefined : { timeMs };
}

const WEIGHT = { default: 0.15, least: 0, most: 1 } as const;
const SEED_COUNT = { default: 1, least: 1, most: 10 } as const;
const MAX_DEPTH = { default: 2, least: 1, most: 4 } as const;

const clamped = ({ weight, seed_count, max_depth, direction }: GraphRerankOptions): GraphRerank => ({
  weight: within(WEIGHT, weight ?? WEIGHT.default),
  seedCount: within(SEED_COUNT, Math.floor(seed_count ?? SEED_COUNT.default)),
  maxDepth: within(MAX_DEPTH, Math.floor(max_depth ?? MAX_DEPTH.default)),
  direction: direction ?? 'outgoing',
});

const within = ({ least, most }: { readonly least: number; readonly most: number }, value: number): number =>
  Math.min(most, Math.max(least, value));
