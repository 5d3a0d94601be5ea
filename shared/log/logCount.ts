/** What a log says of its size without being replayed: for collections that nobody has open. */
import { Malformed } from '../malformed.js';
import { type EventLog, type EventLogs, LogDamaged } from './eventLog.js';
import { readFrameHeader } from './frame.js';

export interface LogCount {
  readonly records: number;
  readonly logBytes: number;
  /** Committed events. */
  readonly sequence: number;
}

/** Of a collection whose log does not verify: what it holds is not known. */
export const NOTHING_COUNTED: LogCount = { records: 0, logBytes: 0, sequence: 0 };

/** From the header of the last frame alone. Throws LogDamaged where that is none. */
export async function countInLog(logs: EventLogs, collectionId: number): Promise<LogCount> {
  const log = await logs.open(collectionId);
  try {
    return await countAtHead(log, collectionId);
  } finally {
    await log.close();
  }
}

/** The same of a log that is open. */
export async function countAtHead(log: Pick<EventLog, 'head'>, collectionId: number): Promise<LogCount> {
  const head = await log.head();
  if (head === undefined) return NOTHING_COUNTED;
  try {
    const { liveRecords, logBytesAfter, firstSequence, events } = readFrameHeader(head.bytes);
    return { records: liveRecords, logBytes: logBytesAfter, sequence: firstSequence + events - 1 };
  } catch (error) {
    throw error instanceof Malformed ? new LogDamaged(collectionId, error.message) : error;
  }
}
