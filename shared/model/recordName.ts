import type { Whole } from './whole.js';

/** Names a record by its id, or as a text by its external id, which only a live record has. */
export type RecordName = Whole | string;
