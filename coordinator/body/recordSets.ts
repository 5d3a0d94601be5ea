/** Prepares requests about records that are named in one of several ways. */
import type { DeleteManyCall } from '../../shared/protocol/calls.js';
import { filterOf } from '../contract/filter.js';
import type { DeleteRecordsRequest, GetRecordsRequest } from '../contract/records.js';
import { invalid } from '../contract/refusal.js';
import { assertedExternalIdBytes } from './batch.js';

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
export function prepareDeletion({ collection, ids, external_ids, metadata_filter }: DeleteRecordsRequest): {
  readonly collection: string | null;
  readonly of: DeleteManyCall['of'];
} {
  assertOne({ ids, external_ids, metadata_filter });
  const named = collection ?? null;
  if (ids) return { collection: named, of: { ids } };
  if (external_ids) return { collection: named, of: { externalIds: externalIdsOf(external_ids) } };
  if (Object.keys(metadata_filter!).length === 0)
    throw invalid('$.metadata_filter is empty, and would match all: drop the collection to delete all of its records');
  return { collection: named, of: { filter: filterOf(metadata_filter!, '$.metadata_filter') } };
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
