import type { Filter } from '../../shared/filter.js';
import type { CollectionState } from '../collection/collectionState.js';
import type { Pace } from '../graph/pace.js';
import type { Block } from '../kernel/block.js';
import type { SlotSet } from '../kernel/slotSet.js';
import { matchesOf } from '../metadata/matches.js';

/** Tombstones looked at between two looks at the clock. */
const TOMBSTONES_PER_LOOK = 64;

/**
 * The rows of the records that lived after `sequence` events, and matched the filter: those that live now and had been
 * inserted then, and those that were tombstoned since. Rests by the pace, which throws
 * `unavailable` once nobody waits any more.
 *
 * Writes may come in meanwhile. A row that is inserted is too young; one that is tombstoned is found at the end, where
 * tombstones are looked at; one that is freed and lived then makes the state one that memory does not hold any more, which
 * is for the caller to see. A scan must be under way, so that no slot passes to another record.
 */
export async function heldRows(
  state: CollectionState,
  sequence: number,
  filter: Filter | undefined,
  pace: Pace,
): Promise<SlotSet> {
  const { vectors, lifetimes } = state;
  const held = vectors.slotSet();
  const lastId = lifetimes.recordsAt(sequence);
  const matching = filter && state.metadata.select(filter);
  for (let index = 0; index < vectors.blocks.length; index++) {
    const block = vectors.blocks[index]!;
    const bits = matching === undefined ? block.live : matching.bitmap(index);
    if (bits !== undefined) held.put(index, bornBy(lastId, block, bits));
    if (pace.due) await pace.rest();
  }
  await addTombstoned(state, sequence, lastId, filter, held, pace);
  return held;
}

/** Those of the rows whose record's id is no larger. */
function bornBy(lastId: number, { ids, largestId }: Block, rows: Uint32Array): Uint32Array {
  const born = rows.slice();
  if (largestId <= lastId) return born;
  for (let word = 0; word < born.length; word++)
    for (let left = born[word]!; left !== 0; left &= left - 1) {
      const bit = 31 - Math.clz32(left & -left);
      if (ids[32 * word + bit]! > lastId) born[word]! ^= 1 << bit;
    }
  return born;
}

async function addTombstoned(
  state: CollectionState,
  sequence: number,
  lastId: number,
  filter: Filter | undefined,
  held: SlotSet,
  pace: Pace,
): Promise<void> {
  const { lifetimes } = state;
  const matches = filter && matchesOf(filter);
  for (let n = lifetimes.tombstonesAt(sequence); n < lifetimes.tombstones; n++) {
    const recordId = lifetimes.tombstonedRecord(n);
    const slot = recordId <= lastId ? state.keptSlotOf(recordId) : undefined;
    if (slot !== undefined && (matches === undefined || matches(state.metadataAt(slot)))) held.add(slot);
    if (n % TOMBSTONES_PER_LOOK === 0 && pace.due) await pace.rest();
  }
}
