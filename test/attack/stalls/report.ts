/** Reports of the probe in a thread of a service, and their files. */

/** The folder of the reports, in the environment of a service whose turns are measured. */
export const PROBE_FOLDER_SETTING = 'VOUCH_TEST_STALLS';
export const PROBE_FOLDER = process.env[PROBE_FOLDER_SETTING];
/** Set: a profile is taken with each measurement, and its top frames are part of the report. */
export const PROFILED = process.env.VOUCH_STALLS_PROFILE !== undefined;
/** Holds the number of the epoch in that folder. A thread reports what it has measured when the number changes. */
export const CONTROL_FILE = 'epoch';

/** A line of a thread's file. */
export interface ThreadReport {
  /** `shard`, `coordinator`, `standalone`, or the program of a worker. */
  readonly thread: string;
  readonly isWorker: boolean;
  /** The epoch that begins; absent in a report of one that is over. */
  readonly started?: number;
  readonly finished?: number;
  /** CPU time of the reference work: 50 ms by definition. */
  readonly referenceMs: number;
  /** CPU time of the longest turn, without pauses of the garbage collector. */
  readonly turnMs: number;
  /** The longest pauses of the garbage collector in one turn. */
  readonly pausesMs: number;
  /** Top frames of a profile, where one is taken. */
  readonly frames: readonly string[];
}
