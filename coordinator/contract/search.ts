/** Search requests and their results. */
import typia, { type tags } from 'typia';
import { refuseBody } from './refusal.js';
import type { Component, JsonObject, ResultCount, Whole } from './values.js';

/** Values out of range are clamped, never refused; fractions of the counts are cut off. */
export interface GraphRerankOptions {
  /** 0 to 1. Default 0.15. */
  weight?: number | null;
  /** How many of the best hits seed the walk: 1 to 10. Default 1. */
  seed_count?: number | null;
  /** How many hops the walk goes: 1 to 4. Default 2. */
  max_depth?: number | null;
  /** Along which edges. Default `outgoing`. */
  direction?: 'outgoing' | 'incoming' | 'both' | null;
}

export interface SearchRequest {
  /** As long as the collection's dimension. */
  query: Component[];
  k: ResultCount;
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /**
   * Blend in BM25 of `query_text`: the nearest min(20k, 5000) records are ranked anew, half by distance and half by BM25.
   * Without a `query_text`, or where no record has a text, vector order. Default true; false ignores `query_text`.
   */
  rerank?: boolean | null;
  /** Words to rerank by; no longer than a record's text may be. */
  query_text?: string | null;
  /**
   * Orders by score / decay_factor, where decay_factor = 0.5^(age / half-life); every record is considered, however far
   * down the plain order it stands. 0 or omitted: no decay.
   */
  decay_half_life_secs?: Whole | null;
  /**
   * Keeps the records whose metadata matches every key; k of them are found where as many match. The key's value is what to
   * equal, or an object of operators: `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `nin`, `exists`. Dotted keys reach into
   * objects, and any element of an array may match. `$and`, `$or` and `$not` combine filters. `{}` matches every record
   * whose metadata is an object.
   */
  metadata_filter?: JsonObject | null;
  /** Orders the k hits by score * (1 + weight * hops), hops counted in the graph from the best hits' nodes. Comes last. */
  graph_rerank?: GraphRerankOptions | null;
  /**
   * Searches the state after the last event at or before this instant: ISO 8601 with a zone, such as
   * `2026-01-31T12:00:00.123Z`; what is finer than a millisecond is cut off. All other options work with it, and ages are
   * counted to that instant. Always exact. Before the first event: no results.
   */
  as_of?: (string & tags.Format<'date-time'>) | null;
  /**
   * Searches the state after exactly so many committed events of the collection; 0: the empty one. Beyond the log: 400.
   * Ages are counted to the time of the last of them. Takes precedence over `as_of`.
   */
  as_of_log_index?: Whole | null;
  /** Draw candidates from the best BM25 matches of the whole collection too. Refused without a `query_text` to rerank by. */
  hybrid?: boolean | null;
  /**
   * `strong`, the default: every write that was answered is found. `eventual`: any copy of the collection may answer, which
   * may lack the writes of the last moments, within a bound that the operator sets; the answer tells which state it is of.
   */
  consistency?: 'strong' | 'eventual' | null;
}

export interface SearchHit {
  id: number;
  /** Squared Euclidean distance; 0 is an exact match. The true one, whatever the order comes of. */
  score: number;
  /** Above 0, at most 1. Present with decay. */
  decay_factor?: number;
  /** Whole seconds. Present with decay. */
  age_secs?: number;
  /** Hops from the nearest seed; null where none is within reach. Present with `graph_rerank`. */
  graph_distance?: number | null;
}

export interface SearchResponse {
  /** Closest first, as far as the options do not ask for another order. */
  results: SearchHit[];
  /** How many committed events the searched state comes of. Present with `as_of` or `as_of_log_index`. */
  as_of_log_index?: number;
  /** Unix seconds of the last of these events; null before the first. Present with `as_of` or `as_of_log_index`. */
  as_of_timestamp?: number | null;
  /** The `state_hash` of that event's receipt. Present with `as_of` or `as_of_log_index`. */
  as_of_state_hash?: string;
  /** How many committed events the copy that answered had seen. Present with `consistency` `eventual`. */
  sequence?: number;
}

export interface MultiSearchRequest {
  query: Component[];
  k: ResultCount;
  /** All of the same dimension. A repeated name is searched once. */
  collections: string[] & tags.MinItems<1> & tags.MaxItems<32>;
  /** As in the search of one collection. Ages are counted to the same moment in all of them. */
  decay_half_life_secs?: Whole | null;
  /** As in the search of one collection. Each collection gives its k best matches to the merge. */
  metadata_filter?: JsonObject | null;
  /** As in the search of one collection, for each of them. */
  consistency?: 'strong' | 'eventual' | null;
}

export interface MultiSearchHit {
  collection: string;
  id: number;
  /** Squared Euclidean distance, undecayed. */
  score: number;
  /** Above 0, at most 1. Present with decay. */
  decay_factor?: number;
  /** Whole seconds. Present with decay. */
  age_secs?: number;
}

export interface PartialFailure {
  collection: string;
  code: string;
  error: string;
}

export interface MultiSearchResponse {
  /** By score; with decay by score / decay_factor, then score. Equal ones by collection, then id. */
  results: MultiSearchHit[];
  /** The collections that answered. */
  collections_searched: string[];
  /** By the name of each collection that answered, as `sequence` of its search. Present with `consistency` `eventual`. */
  sequences?: { [collection: string]: number };
  /** Present where at least one collection did not answer. */
  partial_failures?: PartialFailure[];
}

export const assertSearch = typia.createAssert<SearchRequest>(refuseBody);
export const assertMultiSearch = typia.createAssert<MultiSearchRequest>(refuseBody);
