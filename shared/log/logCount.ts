/** The size of a log, from its last frame's header only: for collections that are not open. */
import { Malformed } from '../errors/malformed.js';
import { type EventLog, type EventLogs, LogDamaged } from './eventLog.js';
import { readFrameHeader } from './frame.js';

export interface LogCount {
  readonly records: number;
  readonly logBytes: number;
  readonly sequence: number;
}

/** The count of an empty log, and of a log that does not verify. */
export const NOTHING_COUNTED: LogCount = { records: 0, logBytes: 0, sequence: 0 };

/** Opens the log and counts. Throws LogDamaged if the last frame has no valid header. */
export async function countInLog(logs: EventLogs, collectionId: number): Promise<LogCount> {
  const log = await logs.open(collectionId);
  try {
    return await countAtHead(log, collectionId);
  } finally {
    await log.close();
  }
}

/** Throws like `countInLog`. */
export async function countAtHead(log: Pick<EventLog, 'head'>, collectionId: number): Promise<LogCount> {
  const head = await log.head();
  if (head === undefined) return NOTHING_COUNTED;
  try {
    const { liveRecords, logBytesAfter, lastSequence } = readFrameHeader(head.bytes);
    return { records: liveRecords, logBytes: logBytesAfter, sequence: lastSequence };
  } catch (error) {
    throw error instanceof Malformed ? new LogDamaged(collectionId, error.message) : error;
  }
}
