import type { Block } from './block.js';
import type { ScannedRows } from './rowChoice.js';

/** Relative cost of the wide path. */
const WIDE_COST = 3;

/** How the kernel scans a block. */
export interface Way {
  /** Address of the code plane; 0 for none. */
  readonly plane: number;
  /** 1 if components are beyond the reach of the narrow path. */
  readonly isWide: 0 | 1;
  /** Time per row, relative to an ordinary row. */
  readonly cost: number;
}

export function wayThrough(
  { narrowReach, shape }: ScannedRows,
  { planeAddress, largestComponent }: Block,
  largestQueryComponent: number,
): Way {
  if (largestComponent + largestQueryComponent > narrowReach) return { plane: 0, isWide: 1, cost: WIDE_COST };
  return { plane: planeAddress, isWide: 0, cost: planeAddress === 0 ? 1 : shape.scannedRowCost };
}
