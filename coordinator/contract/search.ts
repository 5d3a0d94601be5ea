/** Search requests and their results. */
import typia, { type tags } from 'typia';
import { refuseBody } from './refusal.js';
import type { Component, JsonObject, ResultCount, Whole } from './values.js';

/** Values out of range are clamped, never refused. */
export interface GraphRerank {
  weight?: number | null;
  seed_count?: number | null;
  max_depth?: number | null;
  direction?: 'outgoing' | 'incoming' | 'both' | null;
}

export interface SearchRequest {
  /** As long as the collection's dimension. */
  query: Component[];
  k: ResultCount;
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** Blend in BM25 of `query_text`. Without a `query_text`, vector order. Default true. */
  rerank?: boolean | null;
  query_text?: string | null;
  /** 0 or omitted: no decay. */
  decay_half_life_secs?: Whole | null;
  metadata_filter?: JsonObject | null;
  graph_rerank?: GraphRerank | null;
  /** ISO 8601, zone required. */
  as_of?: (string & tags.Format<'date-time'>) | null;
  /** Takes precedence over `as_of`. */
  as_of_log_index?: Whole | null;
  /** Draw candidates from the best BM25 matches too. */
  hybrid?: boolean | null;
}

export interface SearchHit {
  id: number;
  /** Squared Euclidean distance; 0 is an exact match. */
  score: number;
  decay_factor?: number;
  age_secs?: number;
  graph_distance?: number | null;
}

export interface SearchResponse {
  /** Closest first. */
  results: SearchHit[];
}

export interface MultiSearchRequest {
  query: Component[];
  k: ResultCount;
  /** All of the same dimension. A repeated name is searched once. */
  collections: string[] & tags.MinItems<1> & tags.MaxItems<32>;
  decay_half_life_secs?: Whole | null;
  metadata_filter?: JsonObject | null;
}

export interface MultiSearchHit {
  collection: string;
  id: number;
  score: number;
  decay_factor?: number;
  age_secs?: number;
}

export interface PartialFailure {
  collection: string;
  code: string;
  error: string;
}

export interface MultiSearchResponse {
  /** By score, then collection, then id. */
  results: MultiSearchHit[];
  /** The collections that answered. */
  collections_searched: string[];
  /** Present where at least one collection did not answer. */
  partial_failures?: PartialFailure[];
}

export const assertSearch = typia.createAssert<SearchRequest>(refuseBody);
export const assertMultiSearch = typia.createAssert<MultiSearchRequest>(refuseBody);
