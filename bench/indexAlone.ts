/** An index over rows in memory, searched by the functions of a collection's index, without log, transport and coordinator. */
import { join } from 'node:path';
import { FrozenRows, freeze } from '../shard/index/builds/frozenRows.js';
import { Generation } from '../shard/index/generation.js';
import { BUILDERS, OPENERS } from '../shard/index/kinds.js';
import { BuildProgress } from '../shard/index/progress.js';
import { Rows } from '../shard/index/rows.js';
import { SlotSet } from '../shard/kernel/slotSet.js';
import { VectorBlocks } from '../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../shard/kernel/vectorMemory.js';
import { deleteTree } from '../shared/files/durable.js';
import type { IndexKind, IndexParameters } from '../shared/model/indexSpec.js';
import { nextTurn } from '../shared/scheduling/slice.js';
import { newFolder } from './folder.js';
import { K } from './inProcess.js';
import { type TimedSearches, timedSearches } from './timedSearches.js';
import { fixedBytes, type VectorSet } from './vectors.js';

export class IndexAlone {
  /** Built payloads. */
  readonly #paths = new Map<IndexKind, string>();
  #builds = 0;

  private constructor(
    readonly vectors: VectorBlocks,
    private readonly folder: string,
  ) {}

  static async of(set: VectorSet): Promise<IndexAlone> {
    const vectors = new VectorBlocks(new VectorMemory(), set.dimension);
    for (let row = 0; row < set.count; row++) {
      const slot = vectors.acquire();
      vectors.write(slot, row + 1, fixedBytes(set.base, set.dimension, row, row + 1));
      vectors.publish(slot);
    }
    const folder = await newFolder();
    return new IndexAlone(vectors, folder);
  }

  /** The generation to search; the caller must `retire` it. The first call for a kind builds its index. */
  async open(kind: IndexKind, parameters: IndexParameters): Promise<Generation> {
    const { vectors } = this;
    const rows = new Rows(new SlotSet(vectors.shape));
    for (let slot = 0; slot < vectors.liveCount; slot++) rows.add(vectors.idOf(slot), slot);
    const path = this.#paths.get(kind) ?? (await this.build(kind, parameters));
    const index = await OPENERS[kind].open({ path, vectors, rows, parameters, pause: nextTurn });
    const counts = { trainedRows: rows.count, savedRows: rows.count };
    return new Generation({
      number: 1,
      kind,
      parameters,
      vectors,
      rows,
      index,
      ...counts,
      refused: new SlotSet(vectors.shape),
    });
  }

  /** Builds an index, which later calls of `open` read. `graphBytesMax`: see `BuildOrder`. Returns the path of the payload. */
  async build(kind: IndexKind, parameters: IndexParameters, graphBytesMax?: number): Promise<string> {
    const { vectors, folder } = this;
    const path = join(folder, `${kind}${this.#builds++}`);
    const rows = new FrozenRows(freeze(vectors), vectors.shape);
    const progress = new BuildProgress();
    await BUILDERS[kind].build({ rows, parameters, path, base: undefined, progress, graphBytesMax });
    this.#paths.set(kind, path);
    return path;
  }

  async close(): Promise<void> {
    this.vectors.destroy();
    await deleteTree(this.folder);
  }
}

/** Searches the generation with the queries of the set. */
export const searchAlone = (generation: Generation, set: VectorSet, searches: number): Promise<TimedSearches> =>
  timedSearches(set, searches, async ({ buffer }) => {
    const { ids } = await generation.search(new Int32Array(buffer), K, undefined);
    return ids;
  });
