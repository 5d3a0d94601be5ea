import type { BlockShape } from '../kernel/blockShape.js';

/** Number of rows: those that a filter selects, and all of the index. They are in this many blocks. */
interface FilteredRows {
  readonly eligible: number;
  readonly covered: number;
  readonly blocks: number;
}

/**
 * Returns the cost of an exact search among selected rows, to compare with that of an index for all rows. An index measures rows that
 * are not selected too, so a filter divides its speed by the selected share. Therefore the exact cost is multiplied by the share.
 */
export function filteredExactCost(shape: BlockShape, { eligible, covered, blocks }: FilteredRows): number {
  const share = Math.min(eligible / Math.max(covered, 1), 1);
  return share * Math.min(shape.listedCost(eligible, Math.min(blocks, eligible)), covered);
}
