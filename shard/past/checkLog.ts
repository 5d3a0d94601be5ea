/**
 * The part of a log that a snapshot stands for, verified although nothing of it is asked for: frame by frame, chained from
 * the genesis up to the place where the snapshot stands. No event is applied, and no more is held than a few frames.
 */
import { EMPTY_LOG, type LogEnd } from '../../shared/log/chain.js';
import { LOG_START, type Position } from '../../shared/log/eventLog.js';
import { Damaged } from '../collection/damaged.js';
import { configHashIn, verifiedFrame } from '../collection/replay.js';
import { type CheckPace, PIECE_BYTES } from './checkPace.js';
import type { Opening } from './opening.js';

/** The end of a frame of a log. Passes between threads. */
export interface LogPlace {
  /** Of that frame. */
  readonly position: Position;
  readonly end: LogEnd;
}

export const LOG_BEGIN: LogPlace = { position: LOG_START, end: EMPTY_LOG };

/** What the owner's thread may have on its way here: it reads no faster than this is worked through. */
const IN_FLIGHT_BYTES = 128 << 10;
/** What reading a frame costs beside its bytes, in bytes read in the same time. */
const FRAME_COST_BYTES = 8 << 10;

export interface LogCheck {
  readonly from: LogPlace;
  readonly upTo: LogPlace;
  readonly pace: CheckPace;
  readonly onReached: (reached: LogPlace) => void;
}

/**
 * From one place to the other. `onReached` is told now and then how far it has come, and at the end: a check that failed
 * may go on from there. False where the log ended before. Throws Damaged, and the reason where the opening is closed.
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

/** With a head of its own: of a view, all that is viewed passes between threads. */
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
  if (!isSame) throw new Damaged(`frame at ${position}: it does not end as the log did when the snapshot was made`);
}
