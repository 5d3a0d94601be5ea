/** The size of a log from its last frame's header alone: for collections that are not open. */
import { Malformed } from '../errors/malformed.js';
import { type EventLog, type EventLogs, LogDamaged } from './eventLog.js';
import { readFrameHeader } from './frame.js';

export interface LogCount {
  readonly records: number;
  readonly logBytes: number;
  readonly sequence: number;
}

/** Stands for an empty log, and for one that does not verify. */
export const NOTHING_COUNTED: LogCount = { records: 0, logBytes: 0, sequence: 0 };

/** Opens the log for it. Throws LogDamaged where the last frame has no valid header. */
export async function countInLog(logs: EventLogs, collectionId: number): Promise<LogCount> {
  const log = await logs.open(collectionId);
  try {
    return await countAtHead(log, collectionId);
  } finally {
    await log.close();
  }
}

/** Throws as `countInLog`. */
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
