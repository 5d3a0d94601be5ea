/** Prepares the names of single records: by id, or by external id. */
import { EXTERNAL_ID_MAX_BYTES } from '../../shared/limits.js';
import type { RecordName } from '../../shared/model/recordName.js';
import type { CreateNodeRequest, NodesQuery } from '../contract/graph.js';
import type { ExternalIdQuery, RecordReference } from '../contract/records.js';
import { invalid } from '../contract/refusal.js';
import { checkedUtf8Size } from './bounds.js';

/** Throws `validation_error` if the id has too many bytes, or halves of surrogate pairs. `path` names it in the message. */
export function externalIdOf(externalId: string, path: string): string {
  checkedUtf8Size(externalId, EXTERNAL_ID_MAX_BYTES, path);
  return externalId;
}

/** Throws `validation_error` unless exactly one of the two is given. `place`: where they are. */
export function oneRecord(
  { id, external_id }: Omit<RecordReference, 'collection'>,
  place: '$.' | '$.like.',
): RecordName {
  const of = nameOf(id, external_id, [`${place}id`, `${place}external_id`]);
  if (of === undefined) throw invalid(`${place}id is missing: expected the id of a record, or ${place}external_id`);
  return of;
}

/** The condition of a write. */
export interface Guard {
  /** The event since which its records must not have changed. */
  readonly since?: number;
}

export const guardOf = ({ if_log_index }: { readonly if_log_index?: number | null }): Guard =>
  if_log_index == null ? {} : { since: if_log_index };

/** Throws `validation_error`. */
export const prepareReference = ({ collection, ...name }: RecordReference) => ({
  collection: collection ?? null,
  guard: guardOf(name),
  of: oneRecord(name, '$.'),
});

/** Throws `validation_error`. */
export function prepareNode({ collection, kind, record_id, external_id }: CreateNodeRequest) {
  const recordId = nameOf(record_id, external_id, ['$.record_id', '$.external_id']) ?? null;
  return { collection: collection ?? null, call: { op: 'addNode', kind, recordId } as const };
}

/** Throws `validation_error`. */
export function prepareNodes({ record_id, external_id, ...query }: NodesQuery) {
  const names = ['query parameter record_id', 'query parameter external_id'] as const;
  return { ...query, of: nameOf(record_id, external_id, names) };
}

/** Throws `validation_error`. */
export function prepareExternal<Query extends ExternalIdQuery>({ external_id, ...query }: Query) {
  return { ...query, of: externalIdOf(external_id, 'query parameter external_id') };
}

/** The record of at most one of the two names; undefined without one. */
function nameOf(
  id: number | null | undefined,
  externalId: string | null | undefined,
  [idPath, externalPath]: readonly [string, string],
): RecordName | undefined {
  if (externalId == null) return id ?? undefined;
  if (id != null) throw invalid(`${externalPath}: ${idPath} names the record already; leave out one of the two`);
  return externalIdOf(externalId, externalPath);
}
