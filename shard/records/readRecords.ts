/** Reads records: one, pages in the order of ids or of a metadata value, many by id, and counts. */
import { unreachable, VouchError } from '../../shared/errors/errors.js';
import type { Filter } from '../../shared/model/filter.js';
import type { RecordName } from '../../shared/model/recordName.js';
import type { ReadCall, Results } from '../../shared/protocol/calls.js';
import type { RecordsCall } from '../../shared/protocol/records.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { CollectionState } from '../state/collectionState.js';
import { missingNamed, unreadable } from '../state/refusals.js';
import { facets } from './facets.js';
import { orderedPage } from './orderedPage.js';
import { RecordColumns } from './recordColumns.js';
import { SlotFilter } from './slotFilter.js';

export async function readRecords(
  state: CollectionState,
  call: RecordsCall,
  slice: Slice,
): Promise<Results[RecordsCall['op']]> {
  switch (call.op) {
    case 'listRecords':
      return call.order === undefined
        ? listRecords(state, call, slice)
        : orderedPage(state, { ...call, order: call.order }, slice);
    case 'getRecords':
      return getRecords(state, call, slice);
    case 'countRecords':
      return { count: call.filter === undefined ? state.liveRecords : await countMatching(state, call.filter, slice) };
    case 'facets':
      return facets(state.metadata, call, slice);
    case 'vectorOf':
      return vectorOf(state, call.id);
    default:
      return unreachable(call);
  }
}

/** Throws `record_not_found`. */
export function readRecord(state: CollectionState, call: Extract<ReadCall, { op: 'get' }>): Results['get'] {
  const id = recordNamed(state, call.id);
  const record = state.record(id);
  if (record === undefined) throw unreadable(state, id);
  const under = state.encrypted.get(id);
  const keyId = under?.content === undefined ? {} : { keyId: under.keyId };
  const read = { ...record, changedBy: state.changedBy(id), ...keyId };
  if (call.text === undefined) return read;
  const slot = state.liveSlotOf(id);
  return { ...read, text: slot === undefined ? null : state.textAt(slot) };
}

/** Returns the id of the named record. Throws `record_not_found` for an external id that no live record has. */
export function recordNamed({ externalIds }: Pick<CollectionState, 'externalIds'>, name: RecordName): number {
  const recordId = externalIds.named(name);
  if (recordId === undefined) throw missingNamed(name);
  return recordId;
}

function vectorOf(state: CollectionState, name: RecordName): Results['vectorOf'] {
  const id = recordNamed(state, name);
  return { id, vector: state.vectors.vectorBytes(searchableSlot(state, id)) };
}

/** Returns the slot of a live record. Throws `record_not_found`, and `validation_error` if it is encrypted. */
export function searchableSlot(state: Pick<CollectionState, 'liveSlotOf' | 'encrypted'>, recordId: number): number {
  const slot = state.liveSlotOf(recordId);
  if (slot !== undefined) return slot;
  if (!state.encrypted.isLivePayload(recordId)) throw unreadable(state, recordId);
  throw new VouchError('validation_error', `record ${recordId} is encrypted and has no vector to search with`);
}

const countMatching = async (state: CollectionState, filter: Filter, slice: Slice): Promise<number> =>
  (await state.metadata.select(filter, slice))().count;

/**
 * Reads a page of the live records. It visits the ids in slices, about 10 ns each, and reads records on the way. Each
 * of them is live, and matches, at some moment of the call.
 */
async function listRecords(
  state: CollectionState,
  { after, limit, filter, fields, maxBytes }: Extract<RecordsCall, { op: 'listRecords' }>,
  slice: Slice,
): Promise<Results['listRecords']> {
  const matching = filter && (await state.metadata.select(filter, slice))();
  const record = filter && new SlotFilter(state, filter);
  const isFound = (recordId: number): boolean => {
    const slot = state.liveSlotOf(recordId);
    if (matching === undefined) return slot !== undefined || state.encrypted.isLivePayload(recordId);
    return slot !== undefined && matching.has(slot);
  };
  // The slot may have been reused since the selection, or its metadata may have changed.
  const isWanted = (recordId: number): boolean => record?.matches(state.liveSlotOf(recordId)!) !== false;
  const page = new RecordColumns(state, fields);
  let last = after;
  for (let recordId = after + 1; recordId < state.nextRecordId; recordId++) {
    if (record?.isSlow && isFound(recordId)) await record.analyse(state.liveSlotOf(recordId)!, slice);
    const isRead = isFound(recordId);
    if (isRead && isWanted(recordId)) {
      if (page.count === limit || (page.count > 0 && page.bytes >= maxBytes)) return { ...page.listed(), next: last };
      page.add(recordId);
      last = recordId;
    }
    if (isRead ? slice.due : slice.step()) await slice.next();
  }
  return { ...page.listed(), next: null };
}

async function getRecords(
  state: CollectionState,
  { of, fields, maxBytes }: Extract<RecordsCall, { op: 'getRecords' }>,
  slice: Slice,
): Promise<Results['getRecords']> {
  const found = new RecordColumns(state, fields);
  const absent: number[] = [];
  const count = 'ids' in of ? of.ids.length : of.externalIds.length;
  let read = 0;
  for (; read < count && found.bytes < maxBytes; read++) {
    const recordId = 'ids' in of ? of.ids[read]! : state.externalIds.find(Buffer.from(of.externalIds[read]!));
    if (recordId !== undefined && state.isReadable(recordId)) found.add(recordId);
    else absent.push(read);
    if (slice.due) await slice.next();
  }
  return { ...found.listed(), read, missing: absent };
}
