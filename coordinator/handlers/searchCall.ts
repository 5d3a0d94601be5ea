/** What a prepared search asks of a collection. */
import type { SearchCall } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import type { PreparedMultiSearch, PreparedSearch } from '../body/search.js';

/** With decay, ages are counted to now, of all collections alike; of a past state the shard says to when. */
export const searchCall = ({ call, halfLifeSecs }: PreparedSearch | PreparedMultiSearch, clock: Clock): SearchCall =>
  halfLifeSecs === null ? call : { ...call, decay: { halfLifeSecs, nowMs: clock.nowMs() } };
