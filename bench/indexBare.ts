/** hnswlib in plain use, with which the index is compared. */
import type hnswlib from 'hnswlib-node';
import { hnswlibNode } from '../scripts/hnswlib/library.js';
import { systemClock } from '../shared/clock.js';
import { K } from './inProcess.js';
import type { VectorSet } from './vectors.js';

const NEIGHBOURS = 16;
const CONSTRUCTION_WIDTH = 200;
const SEED = 1;

export class BareGraph {
  private constructor(private readonly native: hnswlib.HierarchicalNSW) {}

  /** Builds in this thread. The library's input is prepared outside of the measured time, a part at a time. */
  static build(set: VectorSet): { graph: BareGraph; buildMs: number } {
    const native = new (hnswlibNode().HierarchicalNSW)('l2', set.dimension);
    native.initIndex(set.count, NEIGHBOURS, CONSTRUCTION_WIDTH, SEED);
    let buildMs = 0;
    for (let row = 0; row < set.count; row++) {
      const point = rowOf(set.base, row, set.dimension);
      const startedMs = systemClock.monotonicMs();
      native.addPoint(point, row);
      buildMs += systemClock.monotonicMs() - startedMs;
    }
    return { graph: new BareGraph(native), buildMs };
  }

  /** See `Engine.search`. */
  search(set: VectorSet, searches: number, ef: number): { ids: Float64Array[]; latenciesMs: Float64Array } {
    this.native.setEf(ef);
    const latenciesMs = new Float64Array(searches);
    const ids: Float64Array[] = [];
    for (let i = 0; i < searches; i++) {
      const query = rowOf(set.queries, i % set.queryCount, set.dimension);
      const startedMs = systemClock.monotonicMs();
      const { neighbors } = this.native.searchKnn(query, Math.min(K, set.count));
      latenciesMs[i] = systemClock.monotonicMs() - startedMs;
      ids.push(Float64Array.from(neighbors, (row) => row + 1));
    }
    return { ids, latenciesMs: latenciesMs.sort() };
  }
}

const rowOf = (values: Float32Array, row: number, dimension: number): number[] => [
  ...values.subarray(row * dimension, (row + 1) * dimension),
];
