/** Reports of the probe in a thread of a service, and their files. */

/** Environment variable with the folder of the reports, for a measured service. */
export const PROBE_FOLDER_SETTING = 'VOUCH_TEST_STALLS';
export const PROBE_FOLDER = process.env[PROBE_FOLDER_SETTING];
/** Whether a profile is taken with each measurement, and its top frames are added to the report. */
export const PROFILED = process.env.VOUCH_STALLS_PROFILE !== undefined;
/** File with the number of the epoch. When it changes, each thread reports its measurements. */
export const CONTROL_FILE = 'epoch';

/** A line of a thread's file. */
export interface ThreadReport {
  /** `shard`, `coordinator`, `standalone`, or the program of a worker. */
  readonly thread: string;
  readonly isWorker: boolean;
  /** Epoch that begins; missing in a report of a finished one. */
  readonly started?: number;
  readonly finished?: number;
  /** CPU time of the reference work: 50 ms by definition. */
  readonly referenceMs: number;
  /** CPU time of the longest turn, without garbage collection. */
  readonly turnMs: number;
  /** Longest garbage collection pauses in one turn. */
  readonly pausesMs: number;
  /** Top frames of a profile, if one is taken. */
  readonly frames: readonly string[];
}
