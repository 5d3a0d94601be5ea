/** The ids of requests that bring none. */
import { systemEntropy } from '../../shared/clock.js';
import { toHex } from '../../shared/hashing/hash.js';

const REQUEST_ID_ENTROPY_BYTES = 6;

/** Makes ids that are unique within the cluster: a random prefix and a count. */
export function requestIds(): () => string {
  const prefix = toHex(systemEntropy(REQUEST_ID_ENTROPY_BYTES));
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}
