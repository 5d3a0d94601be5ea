/** The endpoints that read many records: pages, records by id, counts, and the values of a metadata key. */

import { FACET_BYTES_MAX, JSON_KEY_MAX_BYTES } from '../../shared/limits.js';
import type { Filter } from '../../shared/model/filter.js';
import type { Field, ListedRecords } from '../../shared/protocol/records.js';
import { inSlices, Slice, type Steps } from '../../shared/scheduling/slice.js';
import { assertedUtf8Bytes, fieldBytesMax } from '../body/bounds.js';
import { jsonObjectOf } from '../body/json.js';
import type { Prepared } from '../body/kinds.js';
import { filterOf } from '../contract/filter.js';
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
import { fieldsJson } from './recordJson.js';

const PAGE_RECORDS = 100;
const FACETS = 10;
/** Records by id come in messages; all of one answer take at most so many of the largest. */
const ANSWER_MESSAGES_MAX = 4;

export const RECORD_READ_ROUTES: readonly Route[] = [
  readRoute('GET /v1/records', {
    summary: 'List the records of a collection in the order of their ids',
    query: queryType('ListRecordsQuery', assertListRecordsQuery),
    answers: 'ListRecordsResponse',
    handle: async (request) => {
      const { collection, limit = PAGE_RECORDS, after = 0, metadata_filter, with: named } = request.query;
      const fields = fieldsOf(named?.split(',') as Field[] | undefined);
      const maxBytes = maxBytesOf(request.services);
      const call = { op: 'listRecords', limit, after, fields, maxBytes, ...filterParameter(metadata_filter) } as const;
      const page = await request.callNamed(collection, call);
      return recordsReply([page], `"next":${page.next}`, request.services);
    },
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
    query: queryType('CountRecordsQuery', assertCountRecordsQuery),
    answers: 'CountRecordsResponse',
    handle: async (request) => {
      const { collection, metadata_filter } = request.query;
      const call = { op: 'countRecords', ...filterParameter(metadata_filter) } as const;
      return json<CountRecordsResponse>(await request.callNamed(collection, call));
    },
  }),
  readRoute('GET /v1/facets', {
    summary: 'Count the records with each value of a metadata key',
    query: queryType('FacetsQuery', assertFacetsQuery),
    answers: 'FacetsResponse',
    handle: async (request) => {
      const { collection, key, limit = FACETS, metadata_filter } = request.query;
      assertedUtf8Bytes(key, JSON_KEY_MAX_BYTES, 'query parameter key');
      const maxBytes = Math.min(FACET_BYTES_MAX, maxBytesOf(request.services));
      const call = { op: 'facets', key, limit, maxBytes, ...filterParameter(metadata_filter) } as const;
      const { values, counts, distinct, records } = await request.callNamed(collection, call);
      const writer = new JsonWriter();
      for (const [i, value] of values.entries())
        writer.write(`${i === 0 ? '{"values":[' : ','}{"value":${value},"count":${counts[i]}}`);
      writer.write(`${values.length === 0 ? '{"values":[' : ''}],"distinct":${distinct},"records":${records}}`);
      return writer.reply();
    },
  }),
];

/** Throws `validation_error` if the records take too much: what has come so far is then dropped. */
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
  return recordsReply(parts, `"missing":${JSON.stringify(missing)}`, request.services);
}

/** Records always have their metadata. */
const fieldsOf = (named: readonly Field[] | null | undefined): readonly Field[] => ['metadata', ...(named ?? [])];

const maxBytesOf = ({ backend }: Services): number => fieldBytesMax({ commitBytes: backend.maxCommitBytes });

const FILTER_PARAMETER = 'query parameter metadata_filter';

/** Throws `validation_error`. */
const filterParameter = (text: string | undefined): { readonly filter?: Filter } =>
  text === undefined
    ? {}
    : { filter: filterOf(jsonObjectOf(Buffer.from(text, 'utf8'), FILTER_PARAMETER), FILTER_PARAMETER) };

/** Makes the answer from `ListedRecord`s and from `rest`, one more member as JSON. */
async function recordsReply(parts: readonly ListedRecords[], rest: string, { clock }: Services): Promise<Reply> {
  const writer = new JsonWriter();
  writer.write('{"records":[');
  await inSlices(writeRecords(writer, parts), new Slice(clock));
  writer.write(`],${rest}}`);
  return writer.reply();
}

function* writeRecords(writer: JsonWriter, parts: readonly ListedRecords[]): Steps<void> {
  let start = '{';
  for (const { ids, tags, fields } of parts) {
    const [recordIds, recordTags] = [float64sOf(ids), float64sOf(tags)];
    for (let i = 0; i < recordIds.length; i++) {
      writer.write(`${start}"id":${recordIds[i]},"tag":${recordTags[i]}${fieldsJson(fields, i)}}`);
      start = ',{';
      yield;
    }
  }
}
