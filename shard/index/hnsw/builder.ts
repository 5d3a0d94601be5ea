import type { BuildOrder, IndexBuilder } from '../kind.js';
import { arrange } from './arrange.js';
import { EqualRows } from './equalRows.js';
import { Graph } from './graph.js';
import { capacityFor } from './parameters.js';

/**
 * Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable Small
 * World graphs", 2016. The work is one row each.
 */
export const hnswBuilder: IndexBuilder = {
  async build(order) {
    const { rows, path, progress } = order;
    const graph = await beginning(order);
    try {
      const components = (ordinal: number): Int32Array | undefined =>
        rows.isLive(ordinal) ? rows.components(ordinal) : undefined;
      const equal = new EqualRows(components);
      const stepped = (): undefined => {
        progress.advance(1);
      };
      progress.expect(rows.count);
      await arrange({ graph, equal }, { count: rows.count, components }, order.base?.count ?? 0, stepped);
      await graph.write(path);
    } finally {
      graph.freeNow();
    }
    return { leftOut: [] };
  },
};

async function beginning({ rows, parameters, base }: BuildOrder): Promise<Graph> {
  const { dimension } = rows;
  const capacity = capacityFor(rows.count);
  if (base === undefined) return Graph.create(dimension, capacity, parameters);
  const graph = await Graph.load(base.path, dimension, parameters, ({ count }) => {
    if (count > base.count) throw new Error(`an HNSW payload of ${count} rows for ${base.count}`);
  });
  graph.grow(capacity);
  return graph;
}
