import type { IndexBuilder } from '../kind.js';
import { arrange } from './arrange.js';
import { EqualRows } from './equalRows.js';
import { HnswGraph } from './graph.js';
import { capacityFor } from './parameters.js';

/**
 * Builds the graph of Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical
 * Navigable Small World graphs", 2016. A unit of progress is a row.
 */
export const hnswBuilder: IndexBuilder = {
  async build({ rows, parameters, base, path, progress }) {
    const capacity = capacityFor(rows.count);
    const graph =
      base === undefined
        ? HnswGraph.create(rows.dimension, capacity, parameters)
        : await HnswGraph.load(base.path, rows.dimension, parameters, base.count);
    try {
      graph.grow(capacity);
      const equal = new EqualRows((ordinal) => (rows.isLive(ordinal) ? rows.components(ordinal) : undefined));
      progress.expect(rows.count);
      await arrange(graph, equal, rows.count, base?.count ?? 0, () => {
        progress.advance(1);
        return undefined;
      });
      await graph.write(path);
    } finally {
      graph.freeNow();
    }
    return { leftOut: [] };
  },
};
