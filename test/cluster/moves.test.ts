// Covers: coordinator/cluster/placement/placementView.ts
/** A shard with a follower that dies while clients write and search. */
import { describeDeadShard } from '../support/suites/deadShard.js';

describeDeadShard(1);
