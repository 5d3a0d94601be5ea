/** Calls about the one alias of a soak. */
import type { Asked } from './asked.js';
import type { SearchAnswer } from './searches.js';

/** Moves the alias to the collection `to`. */
export interface MoveAliasCall extends Asked<'moveAlias', object> {
  readonly to: string;
}

/** A strong search by the alias. */
export interface SearchAliasCall extends Asked<'searchAlias', SearchAnswer> {
  readonly query: readonly number[];
  readonly k: number;
  readonly color: number | null;
}
