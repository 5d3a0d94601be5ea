/**
 * Superseded frames. A NATS cluster checks the expected last message against what it has applied, and servers before 2.12
 * ignore messages in flight between them: where an append of unknown outcome is repeated, or another owner takes over,
 * both frames may be stored. The first belongs to the log; the second was written for a taken place, and never
 * acknowledged. Servers before 2.11 may also store the newest messages of a stream again when they restart.
 */
import { Malformed } from '../errors/malformed.js';
import { claimedStart, readFrameHeader, verifyFrame } from './frame.js';

const atOnce = async (): Promise<void> => undefined;

/** The sequence of the first event after the frame. Undefined where the bytes are no frame. */
export function sequenceAfter(frame: Uint8Array): number | undefined {
  try {
    return readFrameHeader(frame).lastSequence + 1;
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

/**
 * Whether `frame`, read where event `nextSequence` comes next, is intact and was written for an earlier place. Other frames
 * that do not continue the log are damage, which the reader finds.
 */
export async function isSuperseded(frame: Uint8Array, nextSequence: number): Promise<boolean> {
  try {
    if (readFrameHeader(frame).firstSequence >= nextSequence) return false;
    await verifyFrame(frame, claimedStart(frame), atOnce);
    return true;
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}

/** Whether `frame` continues the log that ends with `last`; undefined: that begins with `frame`. Only headers are compared. */
export function continues(frame: Uint8Array, last: Uint8Array | undefined): boolean {
  try {
    const { firstSequence, chainHeadBefore } = readFrameHeader(frame);
    if (last === undefined) return firstSequence === 0;
    const before = readFrameHeader(last);
    return firstSequence === before.lastSequence + 1 && Buffer.compare(chainHeadBefore, before.chainHeadAfter) === 0;
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}
