/** Reads stored frames for an export, beside the commits. */

import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors/errors.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { Damaged, noticingDamage } from '../../shared/log/damaged.js';
import { type EventLog, LOG_START, type Position } from '../../shared/log/eventLog.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import type { Results } from '../../shared/protocol/calls.js';
import { Mutex } from '../../shared/scheduling/mutex.js';
import type { LogHistory } from '../state/logHistory.js';

/** Bytes around each frame in a message. */
const PER_FRAME_BYTES = 8;

export class LogReading {
  /** One read at a time, so that waiting reads take no memory. */
  readonly #turns = new Mutex();

  constructor(
    private readonly log: EventLog,
    private readonly history: LogHistory,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the applied frames from the one with event `from` on, as many as fit, at least one. Returns none if the log
   * lacks that event. Throws `unavailable` if its turn comes too late, and Damaged.
   */
  read(from: number, maxBytes: number, deadlineMs: number): Promise<Results['readLog']> {
    return this.#turns.run(async () => {
      if (this.clock.nowMs() > deadlineMs) throw unavailable('the deadline passed before the log could be read');
      const { nextSequence } = this.history.end;
      const end = Math.max(nextSequence - 1, 0);
      if (from >= nextSequence) return { frames: [], last: end, end };
      return { ...(await noticingDamage(() => this.#collect(from, nextSequence, maxBytes))), end };
    });
  }

  async #collect(from: number, until: number, maxBytes: number): Promise<{ frames: Uint8Array[]; last: number }> {
    const frames: Uint8Array[] = [];
    let sizeBytes = 0;
    let next = from;
    for await (const { bytes } of this.log.read(this.#before(from))) {
      sizeBytes += PER_FRAME_BYTES + bytes.length;
      if (frames.length > 0 && sizeBytes > maxBytes) break;
      next = frames.length === 0 ? nextAfter(bytes) : nextAfter(bytes, next);
      frames.push(bytes);
      if (next >= until) break;
    }
    // The frames were applied here, so a stale replica has answered.
    if (frames.length === 0) throw unavailable('the log could not be read to its end; retry shortly');
    return { frames, last: next - 1 };
  }

  /** Returns the position of the frame before the one with event `sequence`. */
  #before(sequence: number): Position {
    const { firstSequence } = this.history.frameWith(sequence);
    return firstSequence === 0 ? LOG_START : this.history.frameWith(firstSequence - 1).position;
  }
}

/** Returns the sequence after the frame, which must begin with `first` if given. Throws Damaged. */
function nextAfter(frame: Uint8Array, first?: number): number {
  try {
    const { firstSequence, events } = readFrameHeader(frame);
    if (first !== undefined && firstSequence !== first)
      throw new Damaged(`a frame begins with event ${firstSequence} where ${first} comes next`);
    return firstSequence + events;
  } catch (error) {
    throw error instanceof Malformed ? new Damaged(error.message, { cause: error }) : error;
  }
}
