/** Searches, from the validated request to what `SearchCall` needs, but for the time. */
import type { AsOf, GraphRerank, SearchCall, TextQuery } from '../../shared/calls.js';
import type { Filter } from '../../shared/filter.js';
import { filterOf } from '../contract/filter.js';
import { invalid } from '../contract/refusal.js';
import type { GraphRerankOptions, MultiSearchRequest, SearchRequest } from '../contract/search.js';
import type { JsonObject } from '../contract/values.js';
import { assertedTextBytes, type BodyBounds } from './bounds.js';
import { instantMs } from './instant.js';
import { vectorBytes } from './vectors.js';

interface Prepared {
  readonly dimension: number;
  /** What the request does not ask for is absent. */
  readonly call: Omit<SearchCall, 'decay'>;
  /** Null: no decay. */
  readonly halfLifeSecs: number | null;
}

export interface PreparedSearch extends Prepared {
  readonly collection: string | null;
}

export interface PreparedMultiSearch extends Prepared {
  readonly collections: readonly string[];
}

/** Throws `validation_error`. */
export function prepareSearch(request: SearchRequest, bounds: BodyBounds): PreparedSearch {
  const text = textOf(request, bounds);
  const asOf = asOfOf(request);
  const graph = request.graph_rerank ? clamped(request.graph_rerank) : undefined;
  const { dimension, halfLifeSecs, call } = prepare(request);
  const collection = request.collection ?? null;
  // Most searches ask for none of these, and taking the call apart costs them more than all else here.
  if (text === undefined && asOf === undefined && graph === undefined)
    return { dimension, halfLifeSecs, collection, call };
  const options = {
    ...(text === undefined ? {} : { text }),
    ...(graph === undefined ? {} : { graph }),
    ...(asOf === undefined ? {} : { asOf }),
  };
  return { dimension, halfLifeSecs, collection, call: { ...call, ...options } };
}

/** Throws `validation_error`. */
export const prepareMultiSearch = (request: MultiSearchRequest): PreparedMultiSearch => ({
  ...prepare(request),
  collections: request.collections,
});

function prepare(request: SearchRequest | MultiSearchRequest): Prepared {
  const { query, k, decay_half_life_secs, metadata_filter, consistency } = request;
  return {
    dimension: query.length,
    halfLifeSecs: decay_half_life_secs || null,
    call: {
      op: 'search',
      query: vectorBytes([query]),
      k,
      ...filtered(metadata_filter),
      // Who takes an older state is told which one it was.
      ...(consistency === 'eventual' ? { tellSequence: true } : {}),
    },
  };
}

const filtered = (filter: JsonObject | null | undefined): { readonly filter?: Filter } =>
  filter ? { filter: filterOf(filter, '$.metadata_filter') } : {};

function textOf({ query_text, rerank, hybrid }: SearchRequest, bounds: BodyBounds): TextQuery | undefined {
  const isReranked = rerank !== false && Boolean(query_text);
  if (hybrid && !isReranked) throw invalid('$.hybrid: needs a query_text, and rerank not to be false');
  if (!isReranked) return undefined;
  assertedTextBytes(query_text!, bounds, '$.query_text');
  return { query: query_text!, hybrid: hybrid ?? false };
}

/** The instant is checked even where the log index takes precedence. */
function asOfOf({ as_of, as_of_log_index }: SearchRequest): AsOf | undefined {
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
