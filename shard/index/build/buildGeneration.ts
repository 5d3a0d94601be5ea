/** A build from its order to the files of the generation. Runs in the build thread. */
import { BUILDERS } from '../kinds.js';
import {
  completeGeneration,
  payloadPath,
  readRows,
  readSaved,
  type SavedGeneration,
  verifyFiles,
} from '../store/generationFiles.js';
import type { SavedRows } from '../store/rowsFile.js';
import { FrozenRows } from './frozenRows.js';
import type { GenerationFacts, GenerationOrder } from './order.js';
import type { Progress } from './progress.js';

/** The folder is there. Throws Cancelled, and DamagedGeneration where the base does not verify. */
export async function buildGeneration(order: GenerationOrder, progress: Progress): Promise<SavedGeneration> {
  const { facts, folder, baseFolder } = order;
  const check = (): void => progress.assertWanted();
  check();
  const base = baseFolder === undefined ? undefined : await readBase(baseFolder, facts, check);
  const rows = new FrozenRows(order.blocks, facts.dimension, order.strideBytes, base);
  const { leftOut } = await BUILDERS[facts.kind].build({
    rows,
    parameters: facts.parameters,
    path: payloadPath(folder),
    base: base && { path: payloadPath(base.folder), count: base.recordIds.length },
    progress,
  });
  return completeGeneration(folder, facts, { recordIds: rows.recordIds, leftOut: [...rows.dead(), ...leftOut] }, check);
}

/** Verified, since a library that reads a damaged payload may bring the process down. */
async function readBase(
  folder: string,
  { collectionId, dimension, kind }: GenerationFacts,
  check: () => void,
): Promise<SavedRows & { readonly folder: string }> {
  const saved = await readSaved(folder);
  const { facts } = saved;
  if (facts.collectionId !== collectionId || facts.dimension !== dimension || facts.kind !== kind)
    throw new Error(`generation ${facts.number} of collection ${facts.collectionId} is no base for this one`);
  await verifyFiles(saved, check);
  return { folder, ...(await readRows(saved)) };
}
