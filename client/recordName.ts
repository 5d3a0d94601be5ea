/** The names of a record: its id, or its external id. */
import { assertKnown, assertName } from './exact.js';

/** A record by its id, or by its external id. */
export type RecordName = number | { readonly externalId: string };

type ExternalName = Exclude<RecordName, number>;

export const isExternal = (record: RecordName): record is ExternalName => typeof record === 'object' && record !== null;

/** @throws {TypeError} unless the record is named by an external id alone. */
export function externalOf(record: ExternalName): ExternalName {
  assertKnown(record, ['externalId'], 'record');
  const { externalId } = record;
  assertName(externalId, 'externalId');
  return { externalId };
}
