import type { BlockShape } from '../kernel/blockShape.js';

/** Number of rows: those that a filter selects, and all of the index. They are in this many blocks. */
interface FilteredRows {
  readonly eligible: number;
  readonly covered: number;
  readonly blocks: number;
}

/**
 * Time of an index for all rows, divided by the selected share and the time with that filter. It was 0.9 to 1.1 for graphs of 768
 * dimensions, and 1.8 to 2.5 for those of 128.
 */
const FILTERED_SPEED = 1.3;

/**
 * Returns the cost of an exact search among selected rows, to compare with that of an index for all rows. An index measures rows that
 * are not selected too, so a filter makes it slower. Therefore the exact cost is multiplied by the share.
 */
export function filteredExactCost(shape: BlockShape, { eligible, covered, blocks }: FilteredRows): number {
  const share = Math.min(eligible / Math.max(covered, 1), 1);
  const slower = Math.min(FILTERED_SPEED * share, 1);
  return slower * Math.min(shape.listedCost(eligible, Math.min(blocks, eligible)), covered);
}
