/** The endpoints of search, in one collection or in several. */
import type { Clock } from '../../shared/clock.js';
import { isForbidden, VouchError } from '../../shared/errors/errors.js';
import { inScale, type Scale, scaleOf } from '../../shared/fixedPoint.js';
import type { Decay, SearchCall, SearchResult } from '../../shared/protocol/calls.js';
import { inSlices, type Steps } from '../../shared/scheduling/slice.js';
import type { LikedRecord, PreparedMultiSearch, PreparedSearchBatch, PreparedTextSearch } from '../body/search.js';
import { withoutLength } from '../body/vectors.js';
import type { Collection } from '../cluster/catalog/collection.js';
import { invalid } from '../contract/refusal.js';
import type { MultiSearchResponse, PartialFailure } from '../contract/search.js';
import { COLLECTION_ERRORS, type HandlerRequest } from '../http/handlerRequest.js';
import { JsonWriter } from '../http/jsonWriter.js';
import type { Reply } from '../http/reply.js';
import { type Route, readRoute } from '../http/route.js';
import { decodeHits, writeHits } from './hits.js';
import { type CollectionHits, writeMerged } from './mergeHits.js';
import { assertDimension, assertFits, replaced } from './records.js';

export const SEARCH_ROUTES: readonly Route[] = [
  readRoute('POST /v1/search', {
    summary: 'Search a collection',
    body: 'search',
    answers: 'SearchResponse',
    errors: ['dimension_mismatch', ...COLLECTION_ERRORS, 'record_not_found'],
    handle: async (request) => {
      const { clock } = request.services;
      const collection = await request.find(request.body.collection);
      const { dimension, scale } = request.body;
      assertFits(collection, { dimension: dimension ?? collection.dimension, scale }, '$.query');
      return answer(request, collection, searchCall(request.body, clock));
    },
  }),
  readRoute('POST /v1/search/text', {
    summary: 'Search the texts of a collection',
    body: 'textSearch',
    answers: 'TextSearchResponse',
    errors: COLLECTION_ERRORS,
    handle: async (request: HandlerRequest<PreparedTextSearch>) =>
      answer(request, await request.find(request.body.collection), request.body.call),
  }),
  readRoute('POST /v1/search/batch', {
    summary: 'Search a collection many times in one state',
    body: 'searchBatch',
    answers: 'SearchBatchResponse',
    errors: ['dimension_mismatch', ...COLLECTION_ERRORS, 'record_not_found'],
    handle: batchSearch,
  }),
  readRoute('POST /v1/search/multi', {
    summary: 'Search several collections and merge their results',
    body: 'multiSearch',
    answers: 'MultiSearchResponse',
    // A collection that is being imported is a partial failure, except the collection of `like`.
    errors: ['dimension_mismatch', ...COLLECTION_ERRORS, 'record_not_found'],
    handle: multiSearch,
  }),
];

async function answer(request: HandlerRequest<unknown>, collection: Collection, call: SearchCall): Promise<Reply> {
  return inSlices(written(await request.call(collection, call), scaleOf(collection)), request.slice());
}

function* written(result: SearchResult, scale: Scale): Steps<Reply> {
  const { sequence } = result;
  const writer = new JsonWriter();
  writer.write('{"results":[');
  yield* writeHits(writer, decodeHits(result, scale));
  writer.write(`]${asOfJson(result)}${sequence === undefined ? '' : `,"sequence":${sequence}`}}`);
  return yield* writer.reply();
}

interface Undated<C> {
  readonly call: C;
  /** Null: no decay. */
  readonly halfLifeSecs: number | null;
}

/** The call with its decay. Ages count to now, one instant for all collections; for a past state the shard knows the instant. */
const searchCall = <C extends object>({ call, halfLifeSecs }: Undated<C>, clock: Clock): C & { decay?: Decay } =>
  halfLifeSecs === null ? call : { ...call, decay: { halfLifeSecs, nowMs: clock.nowMs() } };

async function batchSearch(request: HandlerRequest<PreparedSearchBatch>): Promise<Reply> {
  const { body, services } = request;
  const { clock } = services;
  const collection = await request.find(body.collection);
  const { scale } = body;
  for (const [i, { dimension }] of body.searches.entries())
    assertFits(collection, { dimension: dimension ?? collection.dimension, scale }, `$.searches[${i}].query`);
  const searches = body.searches.map((search) => searchCall(search, clock));
  const { answers, sequence } = await request.call(collection, { ...body.call, searches });
  const writer = new JsonWriter();
  const slice = request.slice();
  for (const [i, answer] of answers.entries()) {
    writer.write(i === 0 ? '{"answers":[{"results":[' : ']},{"results":[');
    await inSlices(writeHits(writer, decodeHits(answer, scale)), slice);
  }
  writer.write(`]}],"sequence":${sequence}}`);
  return inSlices(writer.reply(), slice);
}

/** The JSON members about a past state; times are whole unix seconds. */
function asOfJson({ asOf }: SearchResult): string {
  if (asOf === undefined) return '';
  const { logIndex, timeMs, stateHash, erased } = asOf;
  const timestamp = timeMs === null ? null : Math.floor(timeMs / 1000);
  const state = `,"as_of_log_index":${logIndex},"as_of_timestamp":${timestamp},"as_of_state_hash":"${stateHash}"`;
  return `${state},"erased":${erased}`;
}

interface SearchedCollection extends CollectionHits {
  readonly sequence: number | undefined;
}

async function multiSearch(request: HandlerRequest<PreparedMultiSearch>): Promise<Reply> {
  const { body } = request;
  const { clock } = request.services;
  const found = await findEach(request);
  const like = body.like && (await recordOf(request, body.like));
  const dimension = like?.collection.dimension ?? body.dimension!;
  assertComparable(
    found.filter((one) => 'found' in one),
    dimension,
    like === null ? '$.query' : '$.like',
  );
  const calls = callsOf(body, like, clock);
  const outcomes = await Promise.all(
    found.map((one) => ('code' in one ? one : searchOne(request, one, callFor(one.found, like, calls)))),
  );
  const searched = outcomes.filter((outcome) => 'ids' in outcome);
  const failures = outcomes.filter((outcome) => 'code' in outcome);
  const rest: Omit<MultiSearchResponse, 'results'> = {
    collections_searched: searched.map(({ collection }) => collection),
    ...(body.call.tellSequence ? { sequences: sequencesOf(searched) } : {}),
    ...(failures.length === 0 ? {} : { partial_failures: failures }),
  };
  const writer = new JsonWriter();
  writer.write('{"results":[');
  const slice = request.slice();
  await inSlices(writeMerged(writer, searched, body.call.k), slice);
  writer.write(`],${JSON.stringify(rest).slice(1)}`);
  return inSlices(writer.reply(), slice);
}

const sequencesOf = (searched: readonly SearchedCollection[]): Record<string, number> =>
  Object.fromEntries(
    searched.flatMap(({ collection, sequence }) => (sequence === undefined ? [] : [[collection, sequence]])),
  );

/** A record whose vector is the query in several collections, as it is now. */
interface FoundRecord {
  readonly collection: Collection;
  readonly id: number;
  readonly vector: Uint8Array;
}

/** Throws `collection_not_found`, `conflict`, `record_not_found`. */
async function recordOf(request: HandlerRequest, { collection: name, of }: LikedRecord): Promise<FoundRecord> {
  const collection = await request.find(name);
  return { collection, ...(await request.call(collection, { op: 'vectorOf', id: of })) };
}

/** The call for collections of each scale; undefined where no collection was known to have it. */
type ScaledCalls = Readonly<Record<Scale, SearchCall | undefined>>;

/** Throws `validation_error` where the record has no direction and a collection needs one. */
function callsOf(
  { call, unit, halfLifeSecs }: PreparedMultiSearch,
  like: FoundRecord | null,
  clock: Clock,
): ScaledCalls {
  const inFull = (scaled: typeof call, scale: Scale): SearchCall => {
    const full = searchCall({ call: scaled, halfLifeSecs }, clock);
    return like === null ? full : { ...full, query: likedQuery(like, scale) };
  };
  return { plain: inFull(call, 'plain'), unit: unit && inFull(unit, 'unit') };
}

function likedQuery({ vector, collection }: FoundRecord, scale: Scale): Uint8Array {
  const query = inScale(vector, scaleOf(collection), scale);
  if (query === undefined) throw withoutLength('$.like');
  return query;
}

/** The call for one of the collections. The record of `like` is excluded in its own. Throws `unavailable` if the scale was not known. */
function callFor(collection: Collection, like: FoundRecord | null, calls: ScaledCalls): SearchCall {
  const call = calls[scaleOf(collection)];
  if (call === undefined) throw replaced(collection);
  return collection.id === like?.collection.id ? { ...call, like: like.id } : call;
}

/** A collection under its name in the request, which may be an alias. */
interface AskedCollection {
  readonly name: string;
  readonly found: Collection;
}

/**
 * The collections to search. Throws `forbidden` before other errors, if the key may not use one of them or that of `like`. So such a
 * key does not learn which of the names exist.
 */
async function findEach(request: HandlerRequest<PreparedMultiSearch>): Promise<(AskedCollection | PartialFailure)[]> {
  const { collections, like } = request.body;
  const names = like === null ? collections : [...collections, like.collection];
  const outcomes = await Promise.allSettled(names.map((name) => findUsable(request, name)));
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  if (errors.length > 0) throw errors.find(isForbidden) ?? errors[0];
  const found = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  return distinct(found.slice(0, collections.length));
}

/** The collection, or a failure while it is being imported. Throws `collection_not_found`, `forbidden`. */
async function findUsable(
  request: HandlerRequest<PreparedMultiSearch>,
  name: string,
): Promise<AskedCollection | PartialFailure> {
  try {
    return { name, found: await request.find(name) };
  } catch (error) {
    if (error instanceof VouchError && error.code === 'conflict')
      return { collection: name, code: error.code, error: error.message };
    throw error;
  }
}

/** Leaves out a collection that an earlier name of the request means too. */
function distinct(all: readonly (AskedCollection | PartialFailure)[]): (AskedCollection | PartialFailure)[] {
  const seen = new Set<number | string>();
  return all.filter((one) => {
    const which = 'code' in one ? one.collection : one.found.id;
    return !seen.has(which) && seen.add(which);
  });
}

/** Throws `validation_error`, `dimension_mismatch`. Only dimensions can differ: all collections have one metric. */
function assertComparable([first, ...others]: readonly AskedCollection[], dimension: number, what: string): void {
  if (first === undefined) return;
  const shared = first.found.dimension;
  const other = others.find((one) => one.found.dimension !== shared);
  if (other !== undefined)
    throw invalid(
      `$.collections: ${first.name} has dimension ${shared} and ${other.name} has ${other.found.dimension}`,
    );
  assertDimension(first.found, dimension, what);
}

/** Searches one collection; its failure becomes part of the answer. */
async function searchOne(
  request: HandlerRequest,
  { name, found }: AskedCollection,
  call: SearchCall,
): Promise<SearchedCollection | PartialFailure> {
  try {
    const result = await request.call(found, call);
    return { collection: name, sequence: result.sequence, ...decodeHits(result, scaleOf(found)) };
  } catch (error) {
    const { requestId } = request.envelope;
    const { logger } = request.services;
    logger.warn({ requestId, collectionId: found.id, err: error }, 'a collection of a multi search failed');
    if (error instanceof VouchError) return { collection: name, code: error.code, error: error.message };
    return { collection: name, code: 'internal_error', error: 'the service failed; its log has the cause' };
  }
}
