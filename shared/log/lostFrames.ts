/**
 * Frames that lost. A NATS cluster checks what a frame is to follow against what it has applied, and servers before 2.12
 * do not count what is still under way between them: where the outcome of an append is not known and it is tried again,
 * or another owner takes over, both frames can get in, one after the other. The first is the log's; the second was
 * written to follow the same frame as the first, follows nothing, and was never answered for.
 */
import { Malformed } from '../malformed.js';
import { claimedStart, readFrameHeader } from './frame.js';
import { verifyFrame } from './frameVerifier.js';

const atOnce = async (): Promise<void> => undefined;

/** What the frame was written to follow: the chain head before it. Undefined where it is no frame. */
export function predecessorOf(frame: Uint8Array): Uint8Array | undefined {
  try {
    return readFrameHeader(frame).chainHeadBefore;
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

/**
 * Whether `frame`, which stands directly behind a frame written to follow `predecessor`, was written to follow the same.
 * It is whole, too: anything else is damage, for the reader to find.
 */
export async function hasLost(frame: Uint8Array, predecessor: Uint8Array | undefined): Promise<boolean> {
  const own = predecessorOf(frame);
  if (own === undefined || predecessor === undefined || Buffer.compare(own, predecessor) !== 0) return false;
  try {
    await verifyFrame(frame, claimedStart(frame), atOnce);
    return true;
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}
