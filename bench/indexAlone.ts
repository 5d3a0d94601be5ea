/** An HNSW index over rows in memory, searched as a collection searches it, without log, transport and coordinator. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FrozenRows, freeze } from '../shard/index/builds/frozenRows.js';
import { Generation } from '../shard/index/generation.js';
import { BUILDERS, KINDS } from '../shard/index/kinds.js';
import { BuildProgress } from '../shard/index/progress.js';
import { Rows } from '../shard/index/rows.js';
import { SlotSet } from '../shard/kernel/slotSet.js';
import { VectorBlocks } from '../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../shard/kernel/vectorMemory.js';
import { systemClock } from '../shared/clock.js';
import { deleteTree } from '../shared/files/durable.js';
import { nextTurn } from '../shared/scheduling/slice.js';
import { K } from './inProcess.js';
import { fixedBytes, type VectorSet } from './vectors.js';

export class IndexAlone {
  private constructor(
    private readonly vectors: VectorBlocks,
    private readonly path: string,
    private readonly folder: string,
  ) {}

  static async build(set: VectorSet): Promise<IndexAlone> {
    const vectors = new VectorBlocks(new VectorMemory(), set.dimension);
    for (let row = 0; row < set.count; row++) {
      const slot = vectors.acquire();
      vectors.write(slot, row + 1, fixedBytes(set.base, set.dimension, row, row + 1));
      vectors.publish(slot);
    }
    const folder = await mkdtemp(join(tmpdir(), 'vouch-bench-'));
    const path = join(folder, 'payload');
    const rows = new FrozenRows(freeze(vectors), set.dimension, vectors.shape.strideBytes);
    await BUILDERS.hnsw.build({ rows, parameters: {}, path, base: undefined, progress: new BuildProgress() });
    return new IndexAlone(vectors, path, folder);
  }

  /** What `search` is called on; `retire` it in the end. */
  async open(efSearch: number): Promise<Generation> {
    const { vectors, path } = this;
    const rows = new Rows(new SlotSet(vectors.shape));
    for (let slot = 0; slot < vectors.liveCount; slot++) rows.add(vectors.idOf(slot), slot);
    const parameters = { efSearch };
    const index = await KINDS.hnsw.open({ path, vectors, rows, parameters, pause: nextTurn });
    const counts = { trainedRows: rows.count, savedRows: rows.count };
    return new Generation({
      number: 1,
      kind: 'hnsw',
      parameters,
      vectors,
      rows,
      index,
      ...counts,
      refused: new SlotSet(vectors.shape),
    });
  }

  async close(): Promise<void> {
    this.vectors.destroy();
    await deleteTree(this.folder);
  }
}

/** Latencies in ms, ascending. */
export async function searchAlone(generation: Generation, set: VectorSet, searches: number): Promise<Float64Array> {
  const latenciesMs = new Float64Array(searches);
  for (let i = 0; i < searches; i++) {
    const row = i % set.queryCount;
    const query = new Int32Array(fixedBytes(set.queries, set.dimension, row, row + 1).buffer);
    const startedMs = systemClock.monotonicMs();
    await generation.search(query, K, undefined);
    latenciesMs[i] = systemClock.monotonicMs() - startedMs;
  }
  return latenciesMs.sort();
}
