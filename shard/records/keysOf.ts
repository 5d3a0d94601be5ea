/** The keys of the live records that match a filter. */
import { VouchError } from '../../shared/errors/errors.js';
import type { ErasureResults, KeysOfCall } from '../../shared/protocol/erasures.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { CollectionState } from '../state/collectionState.js';
import { SlotFilter } from './slotFilter.js';

/** Visits the ids in slices, about 10 ns each. Throws `validation_error` if the records are under more than `keysMax` keys. */
export async function keysOf(
  state: CollectionState,
  { filter, keysMax }: KeysOfCall,
  slice: Slice,
): Promise<ErasureResults['keysOf']> {
  const matching = (await state.metadata.select(filter, slice))();
  const record = new SlotFilter(state, filter);
  const keyIds = new Set<string>();
  let withoutKey = 0;
  for (let recordId = 1; recordId < state.nextRecordId; recordId++) {
    const found = state.liveSlotOf(recordId);
    const isFound = found !== undefined && matching.has(found);
    if (isFound && record.isSlow) await record.analyse(found, slice);
    // The slot may have been reused since the selection, or its metadata may have changed.
    const slot = isFound ? state.liveSlotOf(recordId) : undefined;
    if (slot !== undefined && record.matches(slot)) {
      const keyId = state.encrypted.get(recordId)?.keyId;
      if (keyId === undefined) withoutKey++;
      else keyIds.add(keyId);
    }
    if (isFound ? slice.due : slice.step()) await slice.next();
  }
  if (keyIds.size > keysMax)
    throw new VouchError(
      'validation_error',
      `$.metadata_filter matches records under ${keyIds.size} keys; one request erases ${keysMax}: narrow the filter`,
    );
  return { keyIds: [...keyIds], withoutKey };
}
