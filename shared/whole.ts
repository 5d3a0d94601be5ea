import type { tags } from 'typia';

/** A whole number that a double holds exactly, 0 to 2^53 - 1. */
export type Whole = number & tags.Type<'uint64'> & tags.Maximum<9007199254740991>;
