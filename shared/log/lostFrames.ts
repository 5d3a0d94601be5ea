/**
 * Frames that lost. A NATS cluster checks what a frame is to follow against what it has applied, and servers before 2.12
 * do not count what is still under way between them: where the outcome of an append is not known and it is tried again,
 * or another owner takes over, both frames can get in, one after the other. The first is the log's; the second was
 * written for a place that is taken, and was never answered for. Servers before 2.11 may also store the newest messages
 * of a stream once more when they are started again.
 */
import { Malformed } from '../malformed.js';
import { claimedStart, readFrameHeader } from './frame.js';
import { verifyFrame } from './frameVerifier.js';

const atOnce = async (): Promise<void> => undefined;

/** The sequence that the first event after the frame has. Undefined where it is no frame. */
export function sequenceAfter(frame: Uint8Array): number | undefined {
  try {
    const { firstSequence, events } = readFrameHeader(frame);
    return firstSequence + events;
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

/**
 * Whether `frame`, which stands behind a log whose next event has `nextSequence`, was written for a place before that. It
 * is whole, too: anything else is damage, for the reader to find. So is a whole frame that leaves something out.
 */
export async function hasLost(frame: Uint8Array, nextSequence: number): Promise<boolean> {
  try {
    if (readFrameHeader(frame).firstSequence >= nextSequence) return false;
    await verifyFrame(frame, claimedStart(frame), atOnce);
    return true;
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}
