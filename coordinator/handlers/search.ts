/** Search of one collection. */
import type { SearchResult } from '../../shared/calls.js';
import type { PreparedSearch } from '../body/search.js';
import { jsonText, type Reply } from '../http/reply.js';
import { assertDimension, findCollection } from './findCollection.js';
import { type FoundHits, foundHits } from './foundHits.js';
import type { HandlerRequest, Services } from './route.js';
import { searchCall } from './searchCall.js';

export async function search(
  { caller, body, envelope }: HandlerRequest<PreparedSearch>,
  { backend, clock }: Services,
): Promise<Reply> {
  const collection = await findCollection(backend, caller.project, body.collection);
  assertDimension(collection, body.dimension, '$.query');
  const found = await backend.call(collection, searchCall(body, clock), envelope);
  const { sequence } = found;
  const seen = sequence === undefined ? '' : `,"sequence":${sequence}`;
  return jsonText(`{"results":[${hitsJson(foundHits(found))}]${asOfJson(found)}${seen}}`);
}

/** Each `SearchHit`, without an object for it. Numbers print in JSON as they do in a string. */
function hitsJson({ ids, scores, aged, hops }: FoundHits): string {
  let hits = '';
  for (let i = 0; i < ids.length; i++) {
    hits += `${i === 0 ? '' : ','}{"id":${ids[i]},"score":${scores[i]}`;
    if (aged !== undefined) hits += `,"decay_factor":${aged.factors[i]},"age_secs":${aged.agesSecs[i]}`;
    if (hops !== undefined) hits += `,"graph_distance":${hops[i]! < 0 ? null : hops[i]}`;
    hits += '}';
  }
  return hits;
}

/** Times are whole unix seconds, as everywhere in the contract. */
function asOfJson({ asOf }: SearchResult): string {
  if (asOf === undefined) return '';
  const { logIndex, timeMs, stateHash } = asOf;
  const timestamp = timeMs === null ? null : Math.floor(timeMs / 1000);
  return `,"as_of_log_index":${logIndex},"as_of_timestamp":${timestamp},"as_of_state_hash":"${stateHash}"`;
}
