/** Prepares requests about records that are named in one of several ways. */
import type { DeleteManyCall } from '../../shared/protocol/calls.js';
import { filterOf } from '../contract/filter.js';
import type { DeleteRecordsRequest, GetRecordsRequest } from '../contract/records.js';
import { invalid } from '../contract/refusal.js';
import { assertedExternalIdBytes } from './batch.js';
import { requestIdBytes } from './bounds.js';

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
} {
  const requestId = request_id ? requestIdBytes(request_id) : null;
  return { collection: collection ?? null, requestId, of: deletedRecords(named) };
}

function deletedRecords({
  ids,
  external_ids,
  metadata_filter,
}: Omit<DeleteRecordsRequest, 'collection' | 'request_id'>): DeleteManyCall['of'] {
  assertOne({ ids, external_ids, metadata_filter });
  if (ids) return { ids };
  if (external_ids) return { externalIds: externalIdsOf(external_ids) };
  if (Object.keys(metadata_filter!).length === 0)
    throw invalid('$.metadata_filter is empty, and would match all: drop the collection to delete all of its records');
  return { filter: filterOf(metadata_filter!, '$.metadata_filter') };
}

function assertOne(fields: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(fields);
  if (names.filter((name) => fields[name] != null).length !== 1)
    throw invalid(`$: give exactly one of ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`);
}

function externalIdsOf(externalIds: readonly string[]): readonly string[] {
  assertedExternalIdBytes(externalIds);
  return externalIds;
}
