/** Requests and answers of searches. */

import typia, { type tags } from 'typia';
import type { BATCHED_SEARCHES_MAX, GROUP_SIZE_MAX } from '../../shared/limits.js';
import type { WholeBetween } from '../../shared/model/whole.js';
import { refuseBody } from './refusal.js';
import type { Component, ExternalId, Hash, JsonObject, ResultCount, Scalar, Whole } from './values.js';

/** Values out of range are clamped and never refused; counts are rounded down. */
export interface GraphRerankOptions {
  /** 0 to 1. Default 0.15. */
  weight?: number | null;
  /** The number of best hits that seed the walk: 1 to 10. Default 1. */
  seed_count?: number | null;
  /** The greatest number of hops: 1 to 4. Default 2. */
  max_depth?: number | null;
  /** The direction of the followed edges. Default `outgoing`. */
  direction?: 'outgoing' | 'incoming' | 'both' | null;
}

/** How the orders by distance and by text become one. */
export interface HybridOptions {
  /** The weight of the text, from 0 to 1; that of the distance is 1 − `text_weight`. Default 0.5. */
  text_weight?: Share | null;
  /**
   * `blend`, the default, adds both scores, each scaled to 0..1 over the candidates. The other one, `rrf`, adds 1 / (60 + rank by distance) and
   * 1 / (60 + rank by text). The ranks are among the candidates. Both sums are weighted.
   */
  fusion?: 'blend' | 'rrf' | null;
}

type Share = number & tags.Minimum<0> & tags.Maximum<1>;

/** `linearizable` is `strong`, and `local` is `eventual`. */
export type Consistency = 'strong' | 'eventual' | 'linearizable' | 'local';

/** A part of a record that hits carry on request. */
type HitField = 'metadata' | 'text' | 'vector';

/** Squared Euclidean distance; 0 is an exact match. */
type Score = number & tags.Minimum<0>;

/** The request of one search in one collection. */
export interface SearchOptions {
  /** The query vector; its length is the collection's dimension. Exactly one of `query`, `like` and `like_external_id` is given. */
  query?: Component[] | null;
  /** The id of a live record, whose vector is the query. The record itself is not among the hits. */
  like?: Whole | null;
  /** The external id of this record, in place of `like`. */
  like_external_id?: ExternalId | null;
  k: ResultCount;
  /**
   * Ranks the nearest min(20k, 5000) records again, half by distance and half by BM25 of `query_text`. Without a `query_text`,
   * or if no record has a text, the order is by distance. Default true; false ignores `query_text`.
   */
  rerank?: boolean | null;
  /** The words to rerank by; no longer than the text of a record may be. */
  query_text?: string | null;
  /**
   * Orders all records by score / decay_factor, where decay_factor = 0.5^(age / half-life). 0 or omitted: no decay.
   */
  decay_half_life_secs?: Whole | null;
  /**
   * Searches only records whose metadata matches every key; k hits are found if as many records match. The value of a key is
   * compared for equality, or is an object of operators. These are `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `nin`, `prefix`,
   * `contains`, `words` and `exists`. Dotted keys reach into objects, and any element of an array may match. Filters are combined by
   * `$and`, `$or` and `$not`. The key `$text` tests the text of the record. An empty filter matches every record whose metadata is an object.
   * The operator `words` takes `{"all": "…"}`, `{"any": "…"}` or `{"phrase": "…"}`.
   *
   * An object without an operator is compared for equality. It is refused if one of its keys looks like an operator;
   * `{"eq": {…}}` compares with any object. Such a key begins with `$`, is an operator of other systems (`between`,
   * `regex`, …), or is a misspelt operator. Misspelt are `exists`, `prefix`, `contains` and `words` with one letter more, less,
   * wrong or swapped. So are `gte`, `lte` and `nin` with one letter more or two swapped, and those of two letters with one doubled
   * or both swapped. So are operators of three letters or more in capitals, or with a capital first letter. Other words are
   * ordinary keys, such as `get`, `late` and `word`.
   */
  metadata_filter?: JsonObject | null;
  /** Orders the k hits by score * (1 + weight * hops), as the last step; hops count from the nodes of the best hits. */
  graph_rerank?: GraphRerankOptions | null;
  /**
   * Takes candidates from the best BM25 matches of the whole collection too. Refused without a `query_text` to rerank by. An
   * object chooses the order, and adds `text_score` to each hit.
   */
  hybrid?: boolean | HybridOptions | null;
  /** Searches only records whose score is at most this. */
  score_threshold?: Score | null;
  /**
   * Chooses k of the nearest 20k records that are near to the query and far from one another. Each next hit has the least
   * (1 − diversity) · score − diversity · least squared distance to an earlier hit. 0 or omitted: the nearest. k is then at most
   * 100. Refused beside a `query_text` to rerank by and `group_by`.
   */
  diversity?: Share | null;
  /** Fields of each hit: its metadata, its text, its vector. All hits of an answer may carry 8 MiB. */
  with?: (HitField[] & tags.MaxItems<3>) | null;
  /**
   * A metadata key, dotted like a filter's. The answer then has the best hits of each of its values; `k` counts the values,
   * which are ordered by their best hits. A record is in the group of its value at the key, or of each element of an array. Only
   * strings, numbers, booleans and null form groups. Always exact. Refused beside a `query_text` to rerank by and `graph_rerank`.
   */
  group_by?: string | null;
  /** The most hits of a group. Default 3. Refused without `group_by`; k × group_size is at most 20,000. */
  group_size?: GroupSize | null;
}

type GroupSize = number & WholeBetween<1, typeof GROUP_SIZE_MAX>;

/** The searched state, and how fresh it must be. */
interface SearchedState {
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /**
   * Searches the state after the last event at or before this instant: ISO 8601 with a zone, such as
   * `2026-01-31T12:00:00.123Z`, `2026-01-31T14:00+0200` or `2026-01-31T14:00+02`; digits after the milliseconds are cut off.
   * All other options work with it, and ages are counted to that instant. Always exact. Before the first event: no results.
   */
  as_of?: string | null;
  /**
   * Searches the state after this number of committed events; 0: the empty state. A number beyond the log: 400. Ages are
   * counted to the time of the last of these events. Takes precedence over `as_of`.
   */
  as_of_log_index?: Whole | null;
  /**
   * `strong`, the default: every answered write is found. `eventual`: any copy of the collection may answer. It may lack the
   * latest writes, within a bound that the operator sets; the answer names the searched state. Other names of the two are
   * `linearizable` and `local`.
   */
  consistency?: Consistency | null;
}

export interface SearchRequest extends SearchOptions, SearchedState {}

export interface SearchBatchRequest extends SearchedState {
  /**
   * The searches, all of one state. Together their k (with groups k × group_size) is at most 20,000. Their filters have at most
   * 1,024 conditions, 16,384 values and 1 MiB of keys and strings in all. Their query texts take at most 1 MiB in all.
   */
  searches: SearchOptions[] & tags.MinItems<1> & tags.MaxItems<typeof BATCHED_SEARCHES_MAX>;
}

/** The request of a search by text alone. */
export interface TextSearchRequest extends SearchedState {
  /** The words to find; no longer than the text of a record may be. Without a word it finds nothing. */
  query_text: string;
  k: ResultCount;
  /** See the search by vector. */
  metadata_filter?: JsonObject | null;
  /** Fields of each hit: its metadata, its text, its vector. All hits of an answer may carry 8 MiB. */
  with?: (HitField[] & tags.MaxItems<3>) | null;
}

type DecayFactor = number & tags.Minimum<0> & tags.Maximum<1>;
type TextScore = number & tags.Minimum<0>;

export interface SearchHit {
  id: Whole;
  /** Squared Euclidean distance, in any order of hits; 0 is an exact match. */
  score: Score;
  /** 1 − score / 2, the cosine: 1 for the same direction, 0 at a right angle, −1 for the opposite one. Present with `normalise`. */
  similarity?: number;
  /** Above 0, at most 1. Present with decay. */
  decay_factor?: DecayFactor;
  /** Whole seconds. Present with decay. */
  age_secs?: Whole;
  /** BM25 of the record's text; 0 without a word of `query_text`. Present if `hybrid` is an object. */
  text_score?: TextScore;
  /** Hops from the nearest seed; null if no seed is within reach. Present with `graph_rerank`. */
  graph_distance?: Whole | null;
  /** The value of the hit's group. Present with `group_by`. */
  group?: Scalar;
  /** Present if the record has one. */
  external_id?: string;
  /** Present if it was asked for; null if the record has none. */
  metadata?: JsonObject | null;
  /** Present if it was asked for; null if the record has none. */
  text?: string | null;
  /** Present if it was asked for. */
  vector?: number[];
}

export interface SearchBatchResponse {
  /** In the order of `searches`. */
  answers: { results: SearchHit[] }[];
  /** The number of committed events in the state that all of them searched. */
  sequence: Whole;
}

export interface TextHit {
  id: Whole;
  /** BM25 of the record's text, above 0. Scores compare only within one state of one collection. */
  text_score: TextScore;
  /** Present if the record has one. */
  external_id?: string;
  /** Present if it was asked for; null if the record has none. */
  metadata?: JsonObject | null;
  /** Present if it was asked for. */
  text?: string | null;
  /** Present if it was asked for. */
  vector?: number[];
}

/** The searched state, where the request names one. */
interface AnsweredState {
  /** The number of committed events in the searched state. Present with `as_of` or `as_of_log_index`. */
  as_of_log_index?: Whole;
  /** Unix seconds of the last of these events; null before the first. Present with `as_of` or `as_of_log_index`. */
  as_of_timestamp?: Whole | null;
  /** The `state_hash` of that event's receipt. Present with `as_of` or `as_of_log_index`. */
  as_of_state_hash?: Hash;
  /** The number of records that lived then, and whose content has been erased since. Present with `as_of` or `as_of_log_index`. */
  erased?: Whole;
  /** The number of committed events in the copy that answered. Present with `consistency` `eventual`. */
  sequence?: Whole;
}

export interface TextSearchResponse extends AnsweredState {
  /** Records with a word of the query, greatest `text_score` first, equal ones by id. */
  results: TextHit[];
}

export interface SearchResponse extends AnsweredState {
  /** Closest first, unless an option orders otherwise; with `group_by` group after group. */
  results: SearchHit[];
}

/** A record of a collection, by exactly one of `id` and `external_id`. */
export interface RecordInCollection {
  collection: string;
  id?: Whole | null;
  external_id?: ExternalId | null;
}

export interface MultiSearchRequest {
  /** Exactly one of `query` and `like` is given. */
  query?: Component[] | null;
  /** A live record of any collection of the project, whose vector is the query. It is not among the hits. */
  like?: RecordInCollection | null;
  k: ResultCount;
  /** Collections of the same dimension. A collection that several names mean is searched once, under the first. */
  collections: string[] & tags.MinItems<1> & tags.MaxItems<32>;
  /** See the search of one collection. Ages are counted to one instant in all collections. */
  decay_half_life_secs?: Whole | null;
  /** See the search of one collection. Each collection gives its k best matches to the merge. */
  metadata_filter?: JsonObject | null;
  /** See the search of one collection; applies to each collection. */
  consistency?: Consistency | null;
  /** See the search of one collection. */
  score_threshold?: Score | null;
  /** See the search of one collection; each collection's k best hits may carry an equal part of 8 MiB. */
  with?: (HitField[] & tags.MaxItems<3>) | null;
}

export interface MultiSearchHit {
  collection: string;
  id: Whole;
  /** Squared Euclidean distance, undecayed. */
  score: Score;
  /** 1 − score / 2, the cosine. Present if the collection was made with `normalise`. */
  similarity?: number;
  /** Above 0, at most 1. Present with decay. */
  decay_factor?: DecayFactor;
  /** Whole seconds. Present with decay. */
  age_secs?: Whole;
  /** Present if the record has one. */
  external_id?: string;
  /** Present if it was asked for; null if the record has none. */
  metadata?: JsonObject | null;
  /** Present if it was asked for; null if the record has none. */
  text?: string | null;
  /** Present if it was asked for. */
  vector?: number[];
}

export interface PartialFailure {
  collection: string;
  code: string;
  error: string;
}

export interface MultiSearchResponse {
  /** Hits in the order of score; with decay, of score / decay_factor, then score. Equal hits by collection, then id. */
  results: MultiSearchHit[];
  /** The collections that answered. */
  collections_searched: string[];
  /** The `sequence` of each collection that answered, by its name. Present with `consistency` `eventual`. */
  sequences?: { [collection: string]: Whole };
  /** Present if at least one collection did not answer, or is still being imported (`conflict`). */
  partial_failures?: PartialFailure[];
}

export const assertSearch = typia.createAssert<SearchRequest>(refuseBody);
export const assertTextSearch = typia.createAssert<TextSearchRequest>(refuseBody);
export const assertSearchBatch = typia.createAssert<SearchBatchRequest>(refuseBody);
export const assertMultiSearch = typia.createAssert<MultiSearchRequest>(refuseBody);
