/** Search of several collections at once, merged into one order. */
import type { SearchCall } from '../../shared/calls.js';
import { VouchError } from '../../shared/errors.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Collection } from '../backend.js';
import type { PreparedMultiSearch } from '../body/search.js';
import { invalid } from '../contract/refusal.js';
import type { MultiSearchResponse, PartialFailure } from '../contract/search.js';
import { json, type Reply } from '../http/reply.js';
import { assertDimension, findCollection } from './findCollection.js';
import { foundHits } from './foundHits.js';
import { mergeHits, type RankedHits } from './mergeHits.js';
import type { HandlerRequest, Services } from './route.js';
import { searchCall } from './searchCall.js';

interface Searched extends RankedHits {
  readonly sequence: number | undefined;
}

export async function multiSearch(
  { caller, body, envelope }: HandlerRequest<PreparedMultiSearch>,
  services: Services,
): Promise<Reply> {
  const { backend, clock } = services;
  const names = [...new Set(body.collections)];
  const collections = await Promise.all(names.map((name) => findCollection(backend, caller.project, name)));
  assertComparable(collections);
  assertDimension(collections[0]!, body.dimension, '$.query');
  const call = searchCall(body, clock);
  const outcomes = await Promise.all(collections.map((collection) => searchOne(collection, call, envelope, services)));
  const ranked = outcomes.filter((outcome) => 'ids' in outcome);
  const failures = outcomes.filter((outcome) => 'code' in outcome);
  return json<MultiSearchResponse>({
    results: mergeHits(ranked, call.k),
    collections_searched: ranked.map(({ collection }) => collection),
    ...(call.tellSequence ? { sequences: sequencesOf(ranked) } : {}),
    ...(failures.length === 0 ? {} : { partial_failures: failures }),
  });
}

const sequencesOf = (searched: readonly Searched[]): Record<string, number> =>
  Object.fromEntries(
    searched.flatMap(({ collection, sequence }) => (sequence === undefined ? [] : [[collection, sequence]])),
  );

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
  call: SearchCall,
  envelope: Envelope,
  { backend, logger }: Services,
): Promise<Searched | PartialFailure> {
  try {
    const found = await backend.call(collection, call, envelope);
    return { collection: collection.name, sequence: found.sequence, ...foundHits(found) };
  } catch (error) {
    const { requestId } = envelope;
    logger.warn({ requestId, collectionId: collection.id, err: error }, 'a collection of a multi search failed');
    if (error instanceof VouchError) return { collection: collection.name, code: error.code, error: error.message };
    return { collection: collection.name, code: 'internal_error', error: 'the service failed; its log has the cause' };
  }
}
