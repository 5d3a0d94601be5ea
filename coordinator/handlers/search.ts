/** Search of one collection. */
import type { PreparedSearch } from '../body/kinds.js';
import { jsonText, type Reply } from '../http/reply.js';
import { assertDimension, findCollection } from './findCollection.js';
import { refuseSearchOptions } from './notYet.js';
import { numbersOf } from './numbers.js';
import type { HandlerRequest, Services } from './route.js';

export async function search(
  { caller, body, envelope }: HandlerRequest<PreparedSearch>,
  { backend }: Services,
): Promise<Reply> {
  refuseSearchOptions(body);
  const collection = await findCollection(backend, caller.project, body.collection);
  assertDimension(collection, body.dimension, '$.query');
  const found = await backend.call(collection, { op: 'search', query: body.query, k: body.k }, envelope);
  return jsonText(hitsJson(numbersOf(found.ids), numbersOf(found.scores)));
}

/** `SearchResponse`, without an object for each hit. Numbers print in JSON as they do in a string. */
function hitsJson(ids: Float64Array, scores: Float64Array): string {
  let results = '';
  for (let i = 0; i < ids.length; i++) results += `${i === 0 ? '' : ','}{"id":${ids[i]},"score":${scores[i]}}`;
  return `{"results":[${results}]}`;
}
