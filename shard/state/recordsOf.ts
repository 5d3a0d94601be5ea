/** Finds the records that a write of many names. */
import type { DeleteManyCall } from '../../shared/protocol/writes.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { CommitBuilder } from './commitBuilder.js';

/**
 * Returns ids; undefined for an external id that no live record has. `assertCount` receives the number of records that match a
 * filter.
 */
export async function recordsOf(
  plan: CommitBuilder,
  of: DeleteManyCall['of'],
  slice: Slice,
  assertCount: (matching: number) => void,
): Promise<Iterable<number | undefined>> {
  if ('ids' in of) return of.ids;
  if ('externalIds' in of) return plan.liveNamed(of.externalIds);
  const { metadata, vectors } = plan.state;
  const matching = (await metadata.select(of.filter, slice))();
  assertCount(matching.count);
  return idsAt(matching, vectors);
}

function* idsAt(slots: SlotSet, vectors: VectorBlocks): Generator<number> {
  for (const slot of slots) yield vectors.idOf(slot);
}
