import type { Block } from './block.js';
import type { BlockShape } from './blockShape.js';
import type { RowForm } from './rowForm.js';

/** Relative cost of the wide path. */
export const WIDE_COST = 3;

/** Bits of `assembly/way.ts`. */
const WIDE = 1;
export const FILTERS = 2;
/** Bits of a form, shifted by this: residuals of 8 bits, and of 16. */
const FORM_SHIFT = 2;

/** How the kernel scans a block. */
export interface Way {
  /** Address of the code plane; 0 for none. */
  readonly plane: number;
  /** How rows are read; see `assembly/way.ts`. */
  readonly way: number;
  /** Time per row, relative to an ordinary row. */
  readonly cost: number;
}

/** The bound and the layout of a collection's rows. */
interface Bounded {
  readonly narrowReach: number;
  readonly shape: BlockShape;
}

export function wayThrough(
  { narrowReach, shape }: Bounded,
  { planeAddress, largestComponent, form }: Block,
  largestQueryComponent: number,
): Way {
  if (largestComponent + largestQueryComponent > narrowReach)
    return { plane: planeAddress, way: unfiltered(form, true), cost: WIDE_COST };
  if (planeAddress === 0) return { plane: 0, way: 0, cost: 1 };
  return { plane: planeAddress, way: unfiltered(form, false) | FILTERS, cost: shape.scannedRowCost };
}

/** Returns the way through listed rows of which no code excludes one. */
export const unfiltered = (form: RowForm, isWide: boolean): number => (form << FORM_SHIFT) | (isWide ? WIDE : 0);
