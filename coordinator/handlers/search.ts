/** Search of one collection. */
import type { PreparedSearch } from '../body/search.js';
import { jsonText, type Reply } from '../http/reply.js';
import { assertDimension, findCollection } from './findCollection.js';
import { type FoundHits, foundHits } from './foundHits.js';
import { refusePast } from './notYet.js';
import type { HandlerRequest, Services } from './route.js';
import { searchCall } from './searchCall.js';

export async function search(
  { caller, body, envelope }: HandlerRequest<PreparedSearch>,
  { backend, clock }: Services,
): Promise<Reply> {
  refusePast(body.asOf);
  const collection = await findCollection(backend, caller.project, body.collection);
  assertDimension(collection, body.dimension, '$.query');
  const found = await backend.call(collection, searchCall(body, clock), envelope);
  return jsonText(hitsJson(foundHits(found)));
}

/** `SearchResponse`, without an object for each hit. Numbers print in JSON as they do in a string. */
function hitsJson({ ids, scores, aged, hops }: FoundHits): string {
  let results = '';
  for (let i = 0; i < ids.length; i++) {
    results += `${i === 0 ? '' : ','}{"id":${ids[i]},"score":${scores[i]}`;
    if (aged !== undefined) results += `,"decay_factor":${aged.factors[i]},"age_secs":${aged.agesSecs[i]}`;
    if (hops !== undefined) results += `,"graph_distance":${hops[i]! < 0 ? null : hops[i]}`;
    results += '}';
  }
  return `{"results":[${results}]}`;
}
