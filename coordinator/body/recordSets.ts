/** Prepares requests about many records, which are named by ids or match a filter. */
import { JSON_KEY_MAX_BYTES } from '../../shared/limits.js';
import type { Filter } from '../../shared/model/filter.js';
import type { RecordOrder } from '../../shared/model/recordOrder.js';
import { placeAt } from '../../shared/protocol/orderCursor.js';
import type { Field } from '../../shared/protocol/records.js';
import type { DeleteManyCall } from '../../shared/protocol/writes.js';
import { filterOf } from '../contract/filter.js';
import type {
  CountRecordsQuery,
  CountRecordsRequest,
  DeleteRecordsRequest,
  FacetsQuery,
  FacetsRequest,
  GetRecordsRequest,
  ListRecordsQuery,
  ListRecordsRequest,
  PatchRecordsRequest,
} from '../contract/records.js';
import { invalid } from '../contract/refusal.js';
import type { JsonObject } from '../contract/values.js';
import { assertedExternalIdBytes } from './batch.js';
import { assertMetadataSize, type BodyBounds, checkedUtf8Size, requestIdBytes } from './bounds.js';
import { jsonObjectOf } from './json.js';
import { type Guard, guardOf } from './recordNames.js';

const PAGE_RECORDS = 100;
const FACETS = 10;

/** Prefix of a field's name in messages: of a body, or of a query. */
type Place = '$.' | 'query parameter ';

/** Throws `validation_error`. */
export function prepareList(request: ListRecordsRequest | ListRecordsQuery, place: Place = '$.') {
  const { limit, with: named } = request;
  const fields = (typeof named === 'string' ? named.split(',') : (named ?? [])) as readonly Field[];
  return { ...prepareCount(request, place), limit: limit ?? PAGE_RECORDS, ...orderOf(request, place), fields };
}

/** Where the page begins, and its order if the request has one. Throws `validation_error`. */
function orderOf(
  { after, order_by, order }: ListRecordsRequest | ListRecordsQuery,
  place: Place,
): { readonly after: number; readonly order?: RecordOrder & { readonly after?: string } } {
  if (order_by == null) {
    if (order != null) throw invalid(`${place}order needs order_by, the metadata key to order by`);
    if (typeof after === 'string')
      throw invalid(`${place}after is of a page with order_by: send its order_by and order`);
    return { after: after ?? 0 };
  }
  checkedUtf8Size(order_by, JSON_KEY_MAX_BYTES, `${place}order_by`);
  const by = { path: order_by, isDescending: order === 'desc' };
  if (after == null || after === 0) return { after: 0, order: by };
  if (typeof after === 'number' || placeAt(after, by) === undefined)
    throw invalid(`${place}after is not the next of a page with this order_by and order: send that, or nothing`);
  return { after: 0, order: { ...by, after } };
}

/** Throws `validation_error`. */
export function prepareFacets(request: FacetsRequest | FacetsQuery, place: Place = '$.') {
  const { key, limit } = request;
  checkedUtf8Size(key, JSON_KEY_MAX_BYTES, `${place}key`);
  return { ...prepareCount(request, place), key, limit: limit ?? FACETS };
}

/** The collection, and the filter if the request has one. Throws `validation_error`. */
export function prepareCount(
  { collection, metadata_filter }: CountRecordsRequest | CountRecordsQuery,
  place: Place = '$.',
): { readonly collection: string | null; readonly matching: { readonly filter?: Filter } } {
  const path = `${place}metadata_filter`;
  const json = typeof metadata_filter === 'string' ? jsonObjectOf(Buffer.from(metadata_filter), path) : metadata_filter;
  return { collection: collection ?? null, matching: json ? { filter: filterOf(json, path) } : {} };
}

/** Throws `validation_error`. */
export function prepareGet({ collection, ids, external_ids, with: fields }: GetRecordsRequest) {
  assertOne({ ids, external_ids });
  return {
    collection: collection ?? null,
    ids: ids ?? undefined,
    externalIds: external_ids ? externalIdsOf(external_ids) : undefined,
    fields: fields ?? [],
  };
}

/** Throws `validation_error`. */
export function prepareDeletion({ collection, request_id, ...named }: DeleteRecordsRequest): {
  readonly collection: string | null;
  readonly requestId: Uint8Array | null;
  readonly of: DeleteManyCall['of'];
  readonly guard: Guard;
} {
  const requestId = request_id ? requestIdBytes(request_id) : null;
  return { collection: collection ?? null, of: deletedRecords(named), guard: guardOf(named), requestId };
}

/** Throws `validation_error`. */
export function preparePatches({ collection, merge, ...named }: PatchRecordsRequest, bounds: BodyBounds) {
  const patch = Buffer.from(JSON.stringify(merge), 'utf8');
  assertMetadataSize(patch.length, bounds, '$.merge');
  return { collection: collection ?? null, of: namedRecords(named), guard: guardOf(named), patch };
}

function deletedRecords(named: NamedRecords): DeleteManyCall['of'] {
  const of = namedRecords(named);
  assertNotEmpty(named.metadata_filter, 'drop the collection to delete all of its records');
  return of;
}

/** Throws `validation_error` for a filter that matches every record; `remedy` says what to do for all of them. */
export function assertNotEmpty(filter: JsonObject | null | undefined, remedy: string): void {
  if (filter && isEmpty(filter)) throw invalid(`$.metadata_filter is empty, and would match all: ${remedy}`);
}

type NamedRecords = Pick<DeleteRecordsRequest, 'ids' | 'external_ids' | 'metadata_filter'>;

function namedRecords({ ids = null, external_ids = null, metadata_filter = null }: NamedRecords): DeleteManyCall['of'] {
  assertOne({ ids, external_ids, metadata_filter });
  if (ids) return { ids };
  if (external_ids) return { externalIds: externalIdsOf(external_ids) };
  return { filter: filterOf(metadata_filter!, '$.metadata_filter') };
}

/** Whether a filter has no condition that could exclude a record, as `{"$or": [{}]}`. */
const isEmpty = (filter: JsonObject): boolean =>
  Object.entries(filter).every(
    ([key, value]) =>
      (key === '$and' && (value as JsonObject[]).every(isEmpty)) ||
      (key === '$or' && (value as JsonObject[]).some(isEmpty)),
  );

/** Throws `validation_error` unless exactly one of the fields is given. */
export function assertOne(fields: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(fields);
  if (names.filter((name) => fields[name] != null).length !== 1)
    throw invalid(`$: give exactly one of ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`);
}

function externalIdsOf(externalIds: readonly string[]): readonly string[] {
  assertedExternalIdBytes(externalIds);
  return externalIds;
}
