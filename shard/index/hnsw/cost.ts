/** Cost model of HNSW searches, fitted to measurements. The unit is a row that an exact scan measures. */
import type { IndexParameters } from '../../../shared/model/indexSpec.js';
import type { BlockShape } from '../../kernel/blockShape.js';
import { neighbours, searchWidth } from './parameters.js';

/**
 * A search of width `ef` costs about as much as an exact scan of 1,800 + 58 ef rows. That fits real data of 100 dimensions with
 * m 16. The measured cost was 0.6 times that with 15,000 rows, whose graph fits the processor's caches, and 1.1 to 1.6 times
 * with 100,000. With more neighbours a step computes more distances, but fewer than in proportion: many nodes were visited before.
 * With more dimensions, work other than distances has a smaller share. For each unit of width the cost was 60 rows with 4
 * dimensions, 17 with 384, and 10 with 768. So from 100 dimensions on the cost falls as 1 / (dimension + 60).
 */
const COST_ROWS = 1800;
const COST_ROWS_PER_WIDTH = 58;
const COST_NEIGHBOURS = 16;
const COST_DIMENSION = 100;
const COST_DIMENSION_OFFSET = 60;

/** Returns the cost of a search that keeps `width` nodes. */
export function searchCost(shape: BlockShape, parameters: IndexParameters, width: number): number {
  const byNeighbours = Math.cbrt(neighbours(parameters) / COST_NEIGHBOURS);
  const beyond = Math.max(shape.dimension, COST_DIMENSION) + COST_DIMENSION_OFFSET;
  const byDimension = (COST_DIMENSION + COST_DIMENSION_OFFSET) / beyond;
  return (byDimension * (COST_ROWS + COST_ROWS_PER_WIDTH * byNeighbours * width)) / shape.scannedRowCost;
}

/** Number of results of an ordinary search. */
const USUAL_K = 10;

/** Returns the number of rows whose exact scan costs as much as an ordinary search with default parameters. */
export const worthRows = (shape: BlockShape): number => searchCost(shape, {}, searchWidth({}, USUAL_K));
