/** Everything of the contract that this version does not do yet, in one place: it answers 501 not_implemented. */
import { VouchError } from '../../shared/errors.js';
import type { HandlerRequest } from './route.js';

/** For routes of which nothing is there yet. What they take is validated all the same; `check` sees the path's parameter. */
export const refuseRoute =
  (what: string, check?: (parameter: string | undefined) => unknown) =>
  ({ parameters }: Pick<HandlerRequest, 'parameters'>): never => {
    check?.(parameters[0]);
    throw new VouchError('not_implemented', `${what} is not available in this version`);
  };
