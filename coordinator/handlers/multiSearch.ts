/** Search of several collections at once, merged into one order. */
import { VouchError } from '../../shared/errors.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Collection } from '../backend.js';
import type { PreparedMultiSearch } from '../body/kinds.js';
import { invalid } from '../contract/refusal.js';
import type { MultiSearchResponse, PartialFailure } from '../contract/search.js';
import { json, type Reply } from '../http/reply.js';
import { assertDimension, findCollection } from './findCollection.js';
import { mergeHits, type RankedHits } from './mergeHits.js';
import { refuseSearchOptions } from './notYet.js';
import { numbersOf } from './numbers.js';
import type { HandlerRequest, Services } from './route.js';

export async function multiSearch(
  { caller, body, envelope }: HandlerRequest<PreparedMultiSearch>,
  services: Services,
): Promise<Reply> {
  refuseSearchOptions(body);
  const { backend } = services;
  const names = [...new Set(body.collections)];
  const collections = await Promise.all(names.map((name) => findCollection(backend, caller.project, name)));
  assertComparable(collections);
  assertDimension(collections[0]!, body.dimension, '$.query');
  const outcomes = await Promise.all(collections.map((collection) => searchOne(collection, body, envelope, services)));
  const ranked = outcomes.filter((outcome) => 'ids' in outcome);
  const failures = outcomes.filter((outcome) => 'code' in outcome);
  return json<MultiSearchResponse>({
    results: mergeHits(ranked, body.k),
    collections_searched: ranked.map(({ collection }) => collection),
    ...(failures.length === 0 ? {} : { partial_failures: failures }),
  });
}

/** There is one metric, so only dimensions can differ. */
function assertComparable(collections: readonly Collection[]): void {
  const [first] = collections;
  const other = collections.find(({ dimension }) => dimension !== first!.dimension);
  if (other !== undefined)
    throw invalid(
      `$.collections: ${first!.name} has dimension ${first!.dimension} and ${other.name} has ${other.dimension}`,
    );
}

/** A failure of one collection is part of the answer. */
async function searchOne(
  collection: Collection,
  { query, k }: PreparedMultiSearch,
  envelope: Envelope,
  { backend, logger }: Services,
): Promise<RankedHits | PartialFailure> {
  try {
    const { ids, scores } = await backend.call(collection, { op: 'search', query, k }, envelope);
    return { collection: collection.name, ids: numbersOf(ids), scores: numbersOf(scores) };
  } catch (error) {
    const { requestId } = envelope;
    logger.warn({ requestId, collectionId: collection.id, err: error }, 'a collection of a multi search failed');
    if (error instanceof VouchError) return { collection: collection.name, code: error.code, error: error.message };
    return { collection: collection.name, code: 'internal_error', error: 'the service failed; its log has the cause' };
  }
}
