import { unavailable, type VouchError } from '../shared/errors.js';
import { NobodyServes } from '../shared/transport/nobodyServes.js';

/**
 * The collection is not served here any more, and what was asked has certainly had no effect: whoever serves it now is
 * asked, without the caller noticing.
 */
export const moved = (): VouchError => new NobodyServes();

/** The same, of what may have had an effect before it was cut short: only the caller can tell whether to ask again. */
export const cutShort = (): VouchError =>
  unavailable('the collection is moving to another shard, and it is not known what was done; retry shortly');
