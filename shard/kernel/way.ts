import type { Block } from './block.js';
import type { ScannedRows } from './rowChoice.js';

/** The wide path takes about three times as long. */
const WIDE_COST = 3;

/** The way of the kernel through a block. */
export interface Way {
  /** The address of the code plane; 0: none. */
  readonly plane: number;
  /** 1 where the components are beyond the reach of the narrow path. */
  readonly isWide: 0 | 1;
  /** The time for a row, in that of an ordinary one. */
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
