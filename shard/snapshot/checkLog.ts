/**
 * Verifies the part of a log that a snapshot replaces, frame by frame, chained from the genesis to the snapshot's
 * place. Applies no event, and keeps only a few frames in memory.
 */
import { EMPTY_LOG, type LogEnd } from '../../shared/log/chain.js';
import { Damaged } from '../../shared/log/damaged.js';
import { LOG_START, type Position } from '../../shared/log/eventLog.js';
import { type CheckPace, PIECE_BYTES } from '../../shared/scheduling/checkPace.js';
import { configHashIn, verifiedFrame } from '../state/replay.js';
import type { Opening } from './opening.js';

/** The end of a frame of a log. It can be sent between threads. */
export interface LogPlace {
  readonly position: Position;
  readonly end: LogEnd;
}

export const LOG_BEGIN: LogPlace = { position: LOG_START, end: EMPTY_LOG };

/** Largest number of bytes in flight from the owner's thread, which reads no faster than they are verified. */
const IN_FLIGHT_BYTES = 128 << 10;
/** Fixed cost of reading a frame, in bytes that are read in that time. */
const FRAME_COST_BYTES = 8 << 10;

interface LogCheck {
  readonly from: LogPlace;
  readonly upTo: LogPlace;
  readonly pace: CheckPace;
  readonly onReached: (reached: LogPlace) => void;
}

/**
 * Verifies from one place to the other. Calls `onReached` now and then and at the end: a failed check may continue from
 * there. Returns false if the log ended too early. Throws Damaged, and the reason of a closed opening.
 */
export async function checkLog(
  { log, config, closing }: Opening,
  { from, upTo, pace, onReached }: LogCheck,
): Promise<boolean> {
  let { end } = from;
  let spentBytes = 0;
  for await (const { position, bytes } of log.read(from.position, upTo.end.nextSequence - 1, IN_FLIGHT_BYTES)) {
    closing.throwIfAborted();
    const frame = await verifiedFrame(bytes, end, position);
    if (frame.header.firstSequence === 0) configHashIn(frame, config);
    end = frame.end;
    const isLast = end.nextSequence >= upTo.end.nextSequence;
    if (isLast) assertSame({ position, end }, upTo);
    spentBytes += bytes.length + FRAME_COST_BYTES;
    if (!isLast && spentBytes < PIECE_BYTES) continue;
    onReached(placeAt(position, end));
    if (isLast) return true;
    await pace.rest(spentBytes, closing);
    spentBytes = 0;
  }
  return false;
}

/** Copies the head: a view would send its whole buffer between threads. */
export const placeAt = (position: Position, end: LogEnd): LogPlace => ({
  position,
  end: { ...end, chainHead: new Uint8Array(end.chainHead) },
});

function assertSame({ position, end }: LogPlace, upTo: LogPlace): void {
  const isSame =
    position === upTo.position &&
    end.nextSequence === upTo.end.nextSequence &&
    end.logBytes === upTo.end.logBytes &&
    end.lastTimeMs === upTo.end.lastTimeMs &&
    Buffer.compare(end.chainHead, upTo.end.chainHead) === 0;
  if (!isSame) throw new Damaged(`frame at ${position}: it does not end with the chain head of the snapshot`);
}
