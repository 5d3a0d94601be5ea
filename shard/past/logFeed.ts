import type { Clock } from '../../shared/clock.js';
import type { Position, StoredFrame } from '../../shared/log/eventLog.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import { Slice } from '../pause.js';
import type { PackedFrames } from './messages.js';
import type { FrameSource } from './opening.js';

/** Frames are packed until they are so many bytes: a message costs as much as copying some 50 KiB. */
const PACK_BYTES = 256 << 10;
/** What may be on its way at once, where the reader does not say: one frame goes however large it is. */
const IN_FLIGHT_BYTES = 4 << 20;

/**
 * Reads a log for the other thread, and holds back while that has enough to do. Copies each frame once: what the log
 * hands out is the log's.
 */
export class LogFeed {
  /** And not taken yet. */
  #sentBytes = 0;
  #isEnough = false;
  #goOn: () => void = () => undefined;

  constructor(
    private readonly log: FrameSource,
    private readonly clock: Clock,
    private readonly send: (frames: PackedFrames) => void,
    private readonly inFlightBytes = IN_FLIGHT_BYTES,
  ) {}

  /** Resolves when the log is not read any more. Throws what the log throws. */
  async run(after: Position, upTo: number): Promise<void> {
    const slice = new Slice(this.clock);
    const packBytes = Math.min(PACK_BYTES, this.inFlightBytes / 2);
    let packed: StoredFrame[] = [];
    let packedBytes = 0;
    const flush = (): void => {
      if (packed.length > 0) this.#send(packed, packedBytes);
      packed = [];
      packedBytes = 0;
    };
    for await (const frame of this.log.read(after, upTo)) {
      if (this.#isEnough) return;
      packed.push(frame);
      packedBytes += frame.bytes.length;
      if (packedBytes >= packBytes) flush();
      if (reaches(frame, upTo)) break;
      while (this.#sentBytes >= this.inFlightBytes && !this.#isEnough) await this.#room();
      if (slice.due) await slice.next();
    }
    flush();
  }

  taken(sizeBytes: number): void {
    this.#sentBytes -= sizeBytes;
    this.#goOn();
  }

  enough(): void {
    this.#isEnough = true;
    this.#goOn();
  }

  #send(frames: readonly StoredFrame[], sizeBytes: number): void {
    const bytes = new Uint8Array(sizeBytes);
    let at = 0;
    for (const frame of frames) {
      bytes.set(frame.bytes, at);
      at += frame.bytes.length;
    }
    this.#sentBytes += sizeBytes;
    this.send({
      positions: Float64Array.from(frames, ({ position }) => position),
      lengths: Uint32Array.from(frames, (frame) => frame.bytes.length),
      bytes,
    });
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#goOn = resolve;
    });
  }
}

/** Whether the frame has event `upTo`. What is no frame at all is for the other thread to find out. */
function reaches({ bytes }: StoredFrame, upTo: number): boolean {
  try {
    const { firstSequence, events } = readFrameHeader(bytes);
    return firstSequence + events > upTo;
  } catch {
    return true;
  }
}
