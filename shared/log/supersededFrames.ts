/**
 * Superseded frames in logs that older NATS servers wrote. Before 2.12 a server could store two frames for one place; before 2.11,
 * the newest messages of a stream twice. The first frame of a place belongs to the log. Every reader skips the others, which were
 * never answered or are duplicates. Servers since 2.12 store none.
 */
import { Malformed } from '../errors/malformed.js';
import { claimedStart, readFrameHeader, verifyFrame } from './frame.js';

const atOnce = async (): Promise<void> => undefined;

/** The sequence of the first event after the frame; undefined if the bytes are not a frame. */
export function sequenceAfter(frame: Uint8Array): number | undefined {
  try {
    return readFrameHeader(frame).lastSequence + 1;
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

/**
 * Whether `frame`, read where event `nextSequence` is expected, is intact and was written for an earlier place. The reader treats
 * other frames that do not continue the log as damage.
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
