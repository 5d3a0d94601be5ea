import { readIvfPayload } from '../../../shard/index/ivf/payload.js';
import { distance, mean, type Vector } from '../model/indexVectors.js';

/** Mean share of its rows that an IVF index reads per query, computed the slow way from its payload. */
export async function scannedShare(path: string, queries: readonly Vector[], probes: number): Promise<number> {
  const { lists, centroids, assigned, count } = await readIvfPayload({ path }, queries[0]!.length);
  const sizes = new Array<number>(lists).fill(0);
  for (const list of assigned) if (list < lists) sizes[list]!++;
  const share = (query: Vector): number => {
    const distances = sizes.map((_, list) =>
      distance(query, centroids.subarray(list * query.length, (list + 1) * query.length)),
    );
    const nearest = [...sizes.keys()].sort((a, b) => distances[a]! - distances[b]!).slice(0, probes);
    return nearest.reduce((sum, list) => sum + sizes[list]!, 0) / count;
  };
  return mean(queries.map(share));
}
