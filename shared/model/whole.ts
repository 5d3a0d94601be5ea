import type { tags } from 'typia';

/** A whole number that a double holds exactly, 0 to 2^53 - 1. */
export type Whole = number & tags.Type<'uint64'> & tags.Maximum<9007199254740991>;

/** Unix milliseconds that a date can hold. */
export type UnixMs = number & tags.Type<'uint64'> & tags.Maximum<8640000000000000>;

export type { DurationMs } from '../../config/config.js';

/** A number that is neither NaN nor infinite. */
export type Finite = number & tags.Minimum<-1.7976931348623157e308> & tags.Maximum<1.7976931348623157e308>;

/** Throws RangeError for an amount that is not whole: NaN would pass every bound, and spoil the sum for good. */
export function assertWhole(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new RangeError(`${amount} is not an amount to reserve`);
}
