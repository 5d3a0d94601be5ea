/** Opens HNSW indexes: a segment for each graph of the payload. Most indexes have one, and are that segment. */
import type { Index, IndexOpener, OpenOrder } from '../kind.js';
import { sameBuild } from './parameters.js';
import { readHnswPayload, type SavedGraph } from './payload.js';
import { Segment } from './segment.js';
import { SegmentRows } from './segmentRows.js';
import { type OpenSegment, Segments } from './segments.js';

export const hnsw: IndexOpener = {
  open(order) {
    const { vectors, rows, parameters } = order;
    const expected = { dimension: vectors.dimension, parameters, rows: rows.count };
    return readHnswPayload<Index>(order, expected, (graphs) => {
      const [only] = graphs;
      return graphs.length === 1 ? Segment.open(order, only!) : openSegments(order, graphs);
    });
  },
  sameBuild,
};

async function openSegments(order: OpenOrder, graphs: readonly SavedGraph[]): Promise<Segments> {
  const opened: OpenSegment[] = [];
  let first = 0;
  try {
    for (const saved of graphs) {
      const rows = await SegmentRows.of(order, first, saved.rows);
      opened.push({ rows, segment: await Segment.open({ ...order, rows }, saved) });
      first += saved.rows;
    }
    return new Segments(opened);
  } catch (error) {
    for (const { segment } of opened) await segment.free();
    throw error;
  }
}
