/** Build orders for generations, over collections of a test. */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { GenerationOrder } from '../../../shard/index/builds/buildGeneration.js';
import { BuildThread } from '../../../shard/index/builds/buildThread.js';
import { FrozenRows, freeze } from '../../../shard/index/builds/frozenRows.js';
import {
  completeGeneration,
  manifestPath,
  payloadPath,
  type SavedGeneration,
} from '../../../shard/index/store/generationFiles.js';
import type { GenerationStore } from '../../../shard/index/store/generationStore.js';
import type { GenerationFacts } from '../../../shard/index/store/manifest.js';
import type { VectorBlocks } from '../../../shard/kernel/vectorBlocks.js';
import { systemClock } from '../../../shared/clock.js';
import { codeOf, createFile, makeDirectory } from '../../../shared/files/durable.js';
import { silentLogger } from '../../../shared/logger.js';
import { Metrics } from '../../../shared/metrics/metrics.js';
import { eventually } from '../expectations.js';

/** `given`: overrides of a shard's rules and services. */
export const newBuildThread = (given: Partial<ConstructorParameters<typeof BuildThread>[0]> = {}): BuildThread =>
  new BuildThread({ clock: systemClock, logger: silentLogger, metrics: new Metrics('shard'), ...given });

export const factsOf = (number: number, given: Partial<GenerationFacts> = {}): GenerationFacts => ({
  collectionId: 7,
  createdAtMs: 1_700_000_000_000,
  dimension: 8,
  number,
  kind: 'bq',
  parameters: { candidates: 200 },
  sequence: 1_234,
  trainedRows: 3,
  ...given,
});

/**
 * A generation of three rows, the second of them omitted, whose payload is not an index: the store does not read it.
 */
export async function saveGeneration(
  store: GenerationStore,
  number: number,
  given: Partial<GenerationFacts> = {},
): Promise<SavedGeneration> {
  const facts = factsOf(number, given);
  const folder = store.folderOf(facts.collectionId, number);
  await makeDirectory(folder);
  await createFile(payloadPath(folder), `the payload of ${number}`);
  const rows = { recordIds: Float64Array.of(11, 12, 2 ** 40), leftOut: [1] };
  return completeGeneration(folder, { facts, rows }, () => undefined);
}

export function orderOf(
  store: GenerationStore,
  vectors: VectorBlocks,
  number: number,
  { base, ...given }: Partial<GenerationFacts> & { readonly base?: Pick<SavedGeneration, 'folder'> } = {},
): GenerationOrder {
  const facts = factsOf(number, { dimension: vectors.dimension, trainedRows: vectors.liveCount, ...given });
  return {
    facts,
    strideBytes: vectors.shape.strideBytes,
    blocks: freeze(vectors),
    folder: store.folderOf(facts.collectionId, number),
    baseFolder: base?.folder,
    replaced: new Float64Array(0),
  };
}

/** Record ids by ordinal, like a build from scratch numbers them. */
export const numbered = (vectors: VectorBlocks): number[] => [
  ...new FrozenRows(freeze(vectors), vectors.shape).recordIds,
];

/** A base that blocks every build: its manifest is a pipe, whose reader waits until `release`, and then fails. */
export interface BlockedBase {
  readonly folder: string;
  /** Resolves when a build is waiting. */
  reached(): Promise<void>;
  release(): Promise<void>;
}

/** `folder` must not exist yet. Call `reached` and then `release`, or the build waits forever. */
export async function blockedBase(folder: string): Promise<BlockedBase> {
  const pipe = manifestPath(folder);
  let writer: FileHandle | undefined;
  await mkdir(folder);
  await promisify(execFile)('mkfifo', [pipe]);
  const isRead = async (): Promise<boolean> => {
    try {
      writer = await open(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      if (codeOf(error) !== 'ENXIO') throw error;
    }
    return writer !== undefined;
  };
  return {
    folder,
    reached: () => eventually('a build to read its base', isRead),
    release: async () => writer?.close(),
  };
}
