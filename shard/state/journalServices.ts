import type { Clock } from '../../shared/clock.js';
import type { LogHistory } from './logHistory.js';
import type { ContentOpener } from './replay.js';

/** The services of the journal of a collection. */
export interface JournalServices {
  readonly clock: Clock;
  /** See `EventLogs`. */
  readonly lateMs: number;
  /** Absent: contents of records under keys count as lost. */
  readonly contents?: ContentOpener;
  /** The history up to the end of a snapshot; absent: that of an empty log. */
  readonly history?: LogHistory | undefined;
}
