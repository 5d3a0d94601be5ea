/** Everything of the contract that this version does not do yet, in one place: it answers 501 not_implemented. */
import { VouchError } from '../../shared/errors.js';
import type { PreparedMultiSearch, PreparedSearch } from '../body/kinds.js';
import type { HandlerRequest } from './route.js';

const notYet = (what: string): VouchError =>
  new VouchError('not_implemented', `${what} is not available in this version`);

/** For routes of which nothing is there yet. What they take is validated all the same; `check` sees the path's parameter. */
export const refuseRoute =
  (what: string, check?: (parameter: string | undefined) => unknown) =>
  ({ parameters }: Pick<HandlerRequest, 'parameters'>): never => {
    check?.(parameters[0]);
    throw notYet(what);
  };

/** What is asked for and off by default. Of multi search only decay and filter exist. */
export function refuseSearchOptions(options: Omit<PreparedSearch, 'collection'> | PreparedMultiSearch): void {
  if (options.decay_half_life_secs) throw notYet('decay_half_life_secs');
  if (options.metadata_filter) throw notYet('metadata_filter');
  if ('collections' in options) return;
  if (options.query_text && options.rerank !== false) throw notYet('reranking by query_text');
  if (options.graph_rerank) throw notYet('graph_rerank');
  if (typeof options.as_of_log_index === 'number') throw notYet('as_of_log_index');
  if (options.as_of) throw notYet('as_of');
  if (options.hybrid) throw notYet('hybrid');
}
