import { unavailable, type VouchError } from '../../shared/errors/errors.js';
import { NobodyServes } from '../../shared/transport/transportErrors.js';

/** The collection is not served here any more, and the call has certainly had no effect: it is sent to the next owner. */
export const moved = (): VouchError => new NobodyServes();

/** The collection is not served here any more, and the call may have had an effect: only the caller can decide to repeat it. */
export const cutShort = (): VouchError =>
  unavailable('the collection is moving to another shard, and it is not known what was done; retry shortly');
