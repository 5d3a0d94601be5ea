/** Executes a build, from its order to the files of the generation. Runs in the build thread. */
import { BUILDERS } from '../kinds.js';
import type { BuildProgress } from '../progress.js';
import {
  completeGeneration,
  payloadPath,
  readRows,
  readSaved,
  type SavedGeneration,
  verifyFiles,
} from '../store/generationFiles.js';
import type { GenerationFacts } from '../store/manifest.js';
import type { FileCipher } from '../store/payloadFile.js';
import type { SavedRows } from '../store/rowsFile.js';
import { type FrozenBlock, FrozenRows } from './frozenRows.js';

/** The order for a build, as a message to the build thread. */
export interface GenerationOrder {
  readonly facts: GenerationFacts;
  readonly strideBytes: number;
  readonly blocks: readonly FrozenBlock[];
  /** Folder of the new generation. */
  readonly folder: string;
  /** Folder of a complete generation to extend. It must have the same build parameters. */
  readonly baseFolder: string | undefined;
  /** Records that were replaced since the base was made. */
  readonly replaced: Float64Array;
  /** Encrypts the payload; see `payloadFile.ts`. */
  readonly cipher?: FileCipher;
  /** See `BuildOrder`. */
  readonly graphBytesMax?: number | undefined;
}

/**
 * Builds a generation into `order.folder`, which exists and is empty. Throws Cancelled, and DamagedGeneration if the base
 * does not verify.
 */
export async function buildGeneration(order: GenerationOrder, progress: BuildProgress): Promise<SavedGeneration> {
  const { facts, folder, baseFolder, cipher } = order;
  const check = (): void => progress.obey();
  check();
  const base = baseFolder === undefined ? undefined : await readBase(baseFolder, facts, check);
  const rows = new FrozenRows(
    order.blocks,
    { dimension: facts.dimension, strideBytes: order.strideBytes },
    base,
    order.replaced,
  );
  const { leftOut } = await BUILDERS[facts.kind].build({
    rows,
    parameters: facts.parameters,
    ...{ path: payloadPath(folder), cipher },
    base: base && { path: payloadPath(base.folder), count: base.recordIds.length },
    ...{ progress, graphBytesMax: order.graphBytesMax },
  });
  const toSave = { recordIds: rows.recordIds, leftOut: [...rows.dead(), ...leftOut] };
  return {
    ...(await completeGeneration(folder, { facts, rows: toSave }, check, cipher !== undefined)),
    ...(cipher && { cipher }),
  };
}

/** Verifies the files of the base, and reads its rows. A builder would not survive a damaged payload. */
async function readBase(
  folder: string,
  { collectionId, dimension, kind }: GenerationFacts,
  check: () => void,
): Promise<SavedRows & { readonly folder: string }> {
  const saved = await readSaved(folder);
  const { facts } = saved;
  if (facts.collectionId !== collectionId || facts.dimension !== dimension || facts.kind !== kind)
    throw new Error(`generation ${facts.number} of collection ${facts.collectionId} cannot be the base of this one`);
  await verifyFiles(saved, check);
  return { folder, ...(await readRows(saved)) };
}
