/** From the files of a generation to one that serves: the same way after a build and after a restart. */
import { join } from 'node:path';
import type { IndexParameters } from '../../shared/indexSpec.js';
import { SlotSet } from '../kernel/slotSet.js';
import { nextTurn, Slice } from '../pause.js';
import { Generation } from './generation.js';
import type { IndexedCollection } from './indexedCollection.js';
import { KINDS } from './kinds.js';
import { NO_SLOT, Rows } from './rows.js';
import type { IndexServices } from './services.js';
import type { SavedGeneration } from './store/generationFiles.js';

/**
 * The caller keeps a scan begun meanwhile, so that no slot changes hands, and removes from the generation whatever dies
 * from the call on. Throws an Error of one line where the files do not hold together.
 */
export async function openGeneration(
  collection: IndexedCollection,
  { clock, store }: Pick<IndexServices, 'clock' | 'store'>,
  saved: SavedGeneration,
  parameters: IndexParameters,
): Promise<Generation> {
  const { vectors } = collection;
  const { facts } = saved;
  const rows = new Rows(new SlotSet(vectors.shape));
  const refused = new SlotSet(vectors.shape);
  const { recordIds, leftOut } = await store.readRows(saved);
  const slice = new Slice(clock);
  for (let ordinal = 0; ordinal < recordIds.length; ordinal++) {
    const id = recordIds[ordinal]!;
    const slot = collection.liveSlotOf(id);
    const covers = slot !== undefined && !leftOut.has(ordinal);
    rows.add(id, covers ? slot : NO_SLOT);
    if (slot !== undefined && !covers) refused.add(slot);
    if (slice.due) await slice.next();
  }
  const index = await KINDS[facts.kind].open({
    path: join(saved.folder, 'payload'),
    vectors,
    rows,
    parameters,
    pause: nextTurn,
  });
  const { number, kind, trainedRows } = facts;
  const savedRows = recordIds.length;
  return new Generation({ number, kind, parameters, vectors, rows, index, trainedRows, savedRows, refused });
}

/** A generation of so few rows that it has no index. */
export function unindexedGeneration(
  { vectors }: IndexedCollection,
  parts: Pick<Generation, 'number' | 'kind' | 'parameters'>,
): Generation {
  const { number, kind, parameters } = parts;
  return new Generation({
    number,
    kind,
    parameters,
    vectors,
    rows: new Rows(new SlotSet(vectors.shape)),
    index: undefined,
    trainedRows: 0,
    savedRows: 0,
    refused: new SlotSet(vectors.shape),
  });
}
