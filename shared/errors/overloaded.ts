/** Refusals of work because of too much load. Their `Retry-After` is the default of `VouchError`. */
import { VouchError } from './errors.js';
import { OVERLOAD } from './errorTable.js';

export type RefusalReason = keyof typeof OVERLOAD;

/** A refusal: nothing was done, and a later retry may succeed. */
export class Overloaded extends VouchError {
  constructor(readonly reason: RefusalReason) {
    super('unavailable', `${OVERLOAD[reason]}; retry shortly`);
  }
}

const ERRORS = new Map((Object.keys(OVERLOAD) as RefusalReason[]).map((reason) => [reason, new Overloaded(reason)]));

/** Returns the shared error of a reason: making an error, with its stack, doubles the cost of a refusal. */
export const overloaded = (reason: RefusalReason): Overloaded => ERRORS.get(reason)!;
