/** Stored frames as they are, for an export: while the collection is written to, and without keeping anybody waiting. */
import type { Results } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import { type EventLog, LOG_START, type Position } from '../../shared/log/eventLog.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import { Malformed } from '../../shared/malformed.js';
import { Turns } from '../../shared/turns.js';
import { Damaged, noticingDamage } from './damaged.js';
import type { LogHistory } from './history.js';

/** What stands around each frame in a message. */
const PER_FRAME_BYTES = 8;

export class LogReading {
  /** One at a time, whoever asks: what waits holds no memory. */
  readonly #turns = new Turns();

  constructor(
    private readonly log: EventLog,
    private readonly history: LogHistory,
    private readonly clock: Clock,
  ) {}

  /**
   * The frames from the one with event `from` on, as many as fit, at least one; none where the log has no such event.
   * Never beyond what is applied. Throws `unavailable` where its turn comes too late, and Damaged.
   */
  read(from: number, maxBytes: number, deadlineMs: number): Promise<Results['readLog']> {
    return this.#turns.take(async () => {
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
    return { frames, last: next - 1 };
  }

  /** Where the frame before the one with event `sequence` stands. */
  #before(sequence: number): Position {
    const { firstSequence } = this.history.frameWith(sequence);
    return firstSequence === 0 ? LOG_START : this.history.frameWith(firstSequence - 1).position;
  }
}

/** The sequence that follows the frame, which begins with `first` where that is known. Throws Damaged. */
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
