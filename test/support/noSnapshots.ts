import type { Snapshots } from '../../shard/past/snapshots.js';

/** Of a shard that has none and makes none. */
export const NO_SNAPSHOTS: Snapshots = {
  restore: async () => undefined,
  write: async () => {
    throw new Error('no snapshot is made here');
  },
};
