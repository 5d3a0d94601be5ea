// Covers: shard/index/filteredExactCost.ts, shard/index/hnsw/cost.ts, shard/kernel/blockShape.ts
import { expect } from 'chai';
import { filteredExactCost } from '../../../../shard/index/filteredExactCost.js';
import { searchCost } from '../../../../shard/index/hnsw/cost.js';
import { searchWidth } from '../../../../shard/index/hnsw/parameters.js';
import { BlockShape } from '../../../../shard/kernel/blockShape.js';

const K = 10;

/** The cheaper way by measurement, for each selected share that has a clearly cheaper one. */
const CHEAPER = [
  { covered: 100_000, dimension: 128, exact: [0.05, 0.02, 0.01, 0.001], graph: [0.5, 0.2] },
  { covered: 300_000, dimension: 128, exact: [0.02, 0.01, 0.001], graph: [0.5, 0.2, 0.1] },
  { covered: 1_000_000, dimension: 128, exact: [0.01, 0.001], graph: [0.5, 0.2, 0.1, 0.05, 0.03] },
  { covered: 60_000, dimension: 768, exact: [0.1, 0.05, 0.02, 0.01, 0.001], graph: [0.5, 0.2] },
  { covered: 1_000_000, dimension: 768, exact: [0.01, 0.001], graph: [0.5, 0.2, 0.1, 0.05, 0.03, 0.02] },
] as const;

describe('a search with a filter', () => {
  for (const { covered, dimension, exact, graph } of CHEAPER)
    it(`takes the cheaper way, exact or through the graph, at ${covered} rows of ${dimension} dimensions`, () => {
      const shape = new BlockShape(dimension);
      const blocks = shape.blockOf(covered - 1) + 1;
      const ofGraph = searchCost(shape, {}, searchWidth({}, K));
      const isExact = (share: number): boolean =>
        filteredExactCost(shape, { eligible: share * covered, covered, blocks }) <= ofGraph;
      expect(exact.filter((share) => !isExact(share))).to.deep.equal([]);
      expect(graph.filter(isExact)).to.deep.equal([]);
    });
});
