import { VouchError } from '../../shared/errors/errors.js';
import type { SearchCall } from '../../shared/protocol/calls.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import { RecordColumns } from '../records/recordColumns.js';
import type { CollectionState } from '../state/collectionState.js';
import { type Found, type FoundFields, hitsAt } from './found.js';

/** Adds the external ids of the hits, if any record of the collection has one. The external id of a record never changes. */
export const withExternalIds = (found: Found, records: CollectionState): FoundFields =>
  records.externalIds.isUsed
    ? { ...found, fields: { externalIds: Array.from(found.ids, (id) => records.externalIdOf(id)) } }
    : found;

/**
 * Adds the fields that the call names, as they are now, and leaves out hits that were permanently deleted since. If a hit was
 * replaced since, returns undefined, so that the search is repeated; if `isLast`, returns the new fields of such a hit. Throws
 * `validation_error` if fields and groups take more than the call's `maxBytes`.
 */
export async function withFields(
  found: Found,
  records: CollectionState,
  { fields, maxBytes = 0 }: Pick<SearchCall, 'fields' | 'maxBytes'>,
  { slice, isLast }: { readonly slice: Slice; readonly isLast: boolean },
): Promise<FoundFields | undefined> {
  const groupBytes = found.groups?.values.reduce((sum, value) => sum + Buffer.byteLength(value), 0) ?? 0;
  if (fields === undefined) {
    assertWithin(groupBytes, maxBytes);
    return { ...withExternalIds(found, records), takenBytes: groupBytes };
  }
  const columns = new RecordColumns(records, fields);
  const kept: number[] = [];
  for (const [i, id] of found.ids.entries()) {
    const slot = records.keptSlotOf(id);
    if (slot !== undefined) {
      if (slot !== found.slots[i] && !isLast) return undefined;
      columns.add(id);
      kept.push(i);
      assertWithin(columns.bytes + groupBytes, maxBytes);
    }
    if (slice.due) await slice.next();
  }
  const { hops, groups } = found;
  return {
    ...(kept.length === found.ids.length ? found : hitsAt(found, Uint32Array.from(kept))),
    ...(hops === undefined ? {} : { hops: Int32Array.from(kept, (i) => hops[i]!) }),
    ...(groups === undefined ? {} : { groups: { ...groups, of: Int32Array.from(kept, (i) => groups.of[i]!) } }),
    fields: columns.fields(),
    takenBytes: columns.bytes + groupBytes,
  };
}

/** Throws `validation_error` if fields and groups take more bytes than allowed. */
export function assertWithin(sizeBytes: number, maxBytes: number): void {
  if (sizeBytes > maxBytes)
    throw new VouchError(
      'validation_error',
      `the hits with their fields take more than ${maxBytes} bytes: ask for fewer hits, or for fewer of their fields`,
    );
}
