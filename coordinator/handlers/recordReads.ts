/** The endpoints that read many records: pages, records by id, counts, and the values of a metadata key. */

import { type Scale, scaleOf } from '../../shared/fixedPoint.js';
import { FACET_BYTES_MAX } from '../../shared/limits.js';
import type { Field, ListedRecords } from '../../shared/protocol/records.js';
import { inSlices, type Steps } from '../../shared/scheduling/slice.js';
import { fieldBytesMax } from '../body/bounds.js';
import type { Prepared } from '../body/kinds.js';
import { prepareCount, prepareFacets, prepareList } from '../body/recordSets.js';
import {
  assertCountRecordsQuery,
  assertFacetsQuery,
  assertListRecordsQuery,
  type CountRecordsResponse,
} from '../contract/records.js';
import { invalid } from '../contract/refusal.js';
import { COLLECTION_ERRORS, type HandlerRequest, type Services } from '../http/handlerRequest.js';
import { JsonWriter } from '../http/jsonWriter.js';
import { json, type Reply } from '../http/reply.js';
import { queryType, type Route, readRoute } from '../http/route.js';
import { float64sOf } from './hits.js';
import { writeFields } from './recordJson.js';

/** Largest number of calls to the shard for one answer of records by id. Each brings up to `maxBytes`. */
const ANSWER_MESSAGES_MAX = 4;
/** Prefix of parameters' names in messages. */
const IN_QUERY = 'query parameter ';

export const RECORD_READ_ROUTES: readonly Route[] = [
  readRoute('GET /v1/records', {
    summary: 'List the records of a collection in the order of their ids, or of a metadata value',
    query: queryType('ListRecordsQuery', (given) => prepareList(assertListRecordsQuery(given), IN_QUERY)),
    answers: 'ListRecordsResponse',
    handle: (request) => listRecords(request, request.query),
  }),
  readRoute('POST /v1/records/list', {
    summary: 'List records by a request with a body, for long filters',
    body: 'listRecords',
    answers: 'ListRecordsResponse',
    errors: COLLECTION_ERRORS,
    handle: (request) => listRecords(request, request.body),
  }),
  readRoute('POST /v1/records/get', {
    summary: 'Read records by their ids, or by external ids',
    body: 'getRecords',
    answers: 'GetRecordsResponse',
    errors: COLLECTION_ERRORS,
    handle: getRecords,
  }),
  readRoute('GET /v1/records/count', {
    summary: 'Count the records of a collection',
    query: queryType('CountRecordsQuery', (given) => prepareCount(assertCountRecordsQuery(given), IN_QUERY)),
    answers: 'CountRecordsResponse',
    handle: (request) => countRecords(request, request.query),
  }),
  readRoute('POST /v1/records/count', {
    summary: 'Count records by a request with a body, for long filters',
    body: 'countRecords',
    answers: 'CountRecordsResponse',
    errors: COLLECTION_ERRORS,
    handle: (request) => countRecords(request, request.body),
  }),
  readRoute('GET /v1/facets', {
    summary: 'Count the records with each value of a metadata key',
    query: queryType('FacetsQuery', (given) => prepareFacets(assertFacetsQuery(given), IN_QUERY)),
    answers: 'FacetsResponse',
    handle: (request) => countFacets(request, request.query),
  }),
  readRoute('POST /v1/facets', {
    summary: 'Count the records with each value by a request with a body, for long filters',
    body: 'facets',
    answers: 'FacetsResponse',
    errors: COLLECTION_ERRORS,
    handle: (request) => countFacets(request, request.body),
  }),
];

async function listRecords(
  request: HandlerRequest,
  { collection, fields, matching, ...page }: Prepared<'listRecords'>,
): Promise<Reply> {
  const maxBytes = maxBytesOf(request.services);
  const call = { op: 'listRecords', ...page, fields: fieldsOf(fields), maxBytes, ...matching } as const;
  const found = await request.find(collection);
  const listed = await request.call(found, call);
  return recordsReply([listed], scaleOf(found), `"next":${JSON.stringify(listed.next)}`, request);
}

const countRecords = async (
  request: HandlerRequest,
  { collection, matching }: Prepared<'countRecords'>,
): Promise<Reply> =>
  json<CountRecordsResponse>(await request.callNamed(collection, { op: 'countRecords', ...matching }));

async function countFacets(
  request: HandlerRequest,
  { collection, key, limit, matching }: Prepared<'facets'>,
): Promise<Reply> {
  const maxBytes = Math.min(FACET_BYTES_MAX, maxBytesOf(request.services));
  const call = { op: 'facets', key, limit, maxBytes, ...matching } as const;
  const { values, counts, distinct, records } = await request.callNamed(collection, call);
  const writer = new JsonWriter();
  for (const [i, value] of values.entries())
    writer.write(`${i === 0 ? '{"values":[' : ','}{"value":${value},"count":${counts[i]}}`);
  writer.write(`${values.length === 0 ? '{"values":[' : ''}],"distinct":${distinct},"records":${records}}`);
  return inSlices(writer.reply(), request.slice());
}

/** Throws `validation_error` if the records take too many bytes; records read so far are dropped. */
async function getRecords(request: HandlerRequest<Prepared<'getRecords'>>): Promise<Reply> {
  const { ids, externalIds } = request.body;
  const named = (ids ?? externalIds)!;
  const collection = await request.find(request.body.collection);
  const fields = fieldsOf(request.body.fields);
  const maxBytes = maxBytesOf(request.services);
  const parts: ListedRecords[] = [];
  const missing: (number | string)[] = [];
  for (let at = 0; at < named.length; ) {
    if (parts.length === ANSWER_MESSAGES_MAX)
      throw invalid(`the records take more than ${maxBytes * parts.length} bytes: ask for fewer of them`);
    const of = ids === undefined ? { externalIds: externalIds!.slice(at) } : { ids: ids.slice(at) };
    const part = await request.call(collection, { op: 'getRecords', of, fields, maxBytes });
    parts.push(part);
    for (const place of part.missing) missing.push(named[at + place]!);
    at += part.read;
  }
  return recordsReply(parts, scaleOf(collection), `"missing":${JSON.stringify(missing)}`, request);
}

/** Records always have their metadata. */
const fieldsOf = (named: readonly Field[]): readonly Field[] => ['metadata', ...named];

const maxBytesOf = ({ backend }: Services): number => fieldBytesMax({ commitBytes: backend.maxCommitBytes });

/** Makes the answer from `ListedRecord`s and from `rest`, one more member as JSON. */
async function recordsReply(
  parts: readonly ListedRecords[],
  scale: Scale,
  rest: string,
  request: HandlerRequest,
): Promise<Reply> {
  const writer = new JsonWriter();
  const slice = request.slice();
  writer.write('{"records":[');
  await inSlices(writeRecords(writer, parts, scale), slice);
  writer.write(`],${rest}}`);
  return inSlices(writer.reply(), slice);
}

function* writeRecords(writer: JsonWriter, parts: readonly ListedRecords[], scale: Scale): Steps<void> {
  let start = '{';
  for (const { ids, tags, fields } of parts) {
    const [recordIds, recordTags] = [float64sOf(ids), float64sOf(tags)];
    for (let i = 0; i < recordIds.length; i++) {
      writer.write(`${start}"id":${recordIds[i]},"tag":${recordTags[i]}`);
      yield* writeFields(writer, fields, i, scale);
      writer.write('}');
      start = ',{';
      yield;
    }
  }
}
