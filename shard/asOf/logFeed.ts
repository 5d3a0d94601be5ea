/**
 * The reading of a log for the thread of past states. The owner's thread reads, since it has the connections. Each
 * reading has its own port, which either side closes to end it.
 *
 * ```text
 * Owner ──frames, then the outcome──▶ thread of past states ──bytes taken: so many more may come──▶ owner
 * ```
 */
import { on } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import type { Clock } from '../../shared/clock.js';
import type { StoredFrame } from '../../shared/log/eventLog.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import type { ThreadOutcome } from '../../shared/process/workerThread.js';
import { Slice } from '../../shared/scheduling/slice.js';
import type { FrameSource } from '../snapshot/opening.js';
import { asOfOutcome, type LogRequest, unwrapAsOf } from './messages.js';

/** Frames are packed up to this many bytes: a message costs as much as copying some 50 KiB. */
const PACK_BYTES = 256 << 10;
/** Largest number of bytes in flight, unless the reader requests another bound. A single larger frame is sent too. */
const IN_FLIGHT_BYTES = 4 << 20;

/** Consecutive frames, in memory that is transferred between the threads. */
export interface PackedFrames {
  readonly positions: Float64Array;
  readonly lengths: Uint32Array;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export type FeedMessage = PackedFrames | ThreadOutcome<null>;

/** Reads a log through the other thread; `request` sends a request there. */
export const fedLog = (request: (request: LogRequest) => void): FrameSource => ({
  /** Throws the error of the reading in the other thread. */
  async *read(after, upTo, inFlightBytes) {
    const { port1, port2 } = new MessageChannel();
    const messages = on(port1, 'message', { close: ['close'] }) as AsyncIterable<[FeedMessage]>;
    request({ after, upTo, inFlightBytes, port: port2 });
    try {
      for await (const [message] of messages) {
        if ('ended' in message) {
          unwrapAsOf(message);
          return;
        }
        yield* unpacked(message);
        port1.postMessage(message.bytes.length);
      }
      throw new Error('the reading of the log ended without an outcome');
    } finally {
      port1.close();
    }
  },
});

/**
 * Reads a log for the other thread. Resolves when the log is no longer read. Copies each frame once, since the log owns
 * it.
 */
export async function feedLog(
  log: FrameSource,
  clock: Clock,
  { after, upTo, inFlightBytes: inFlightMax = IN_FLIGHT_BYTES, port }: LogRequest,
): Promise<void> {
  let inFlightBytes = 0;
  let isClosed = false;
  let wake = (): void => undefined;
  port.on('message', (takenBytes: number) => {
    inFlightBytes -= takenBytes;
    wake();
  });
  port.on('close', () => {
    isClosed = true;
    wake();
  });
  const packBytes = Math.min(PACK_BYTES, inFlightMax / 2);
  let packed: StoredFrame[] = [];
  let packedBytes = 0;
  const slice = new Slice(clock);
  const flush = async (): Promise<void> => {
    if (packed.length === 0) return;
    const frames = await pack(packed, packedBytes, slice);
    port.postMessage(frames, [frames.bytes.buffer]);
    inFlightBytes += packedBytes;
    [packed, packedBytes] = [[], 0];
  };
  const outcome = await asOfOutcome(async () => {
    for await (const frame of log.read(after, upTo)) {
      if (isClosed) return null;
      packed.push(frame);
      packedBytes += frame.bytes.length;
      if (packedBytes >= packBytes) await flush();
      if (reaches(frame, upTo)) break;
      while (inFlightBytes >= inFlightMax && !isClosed)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (slice.due) await slice.next();
    }
    await flush();
    return null;
  });
  port.postMessage(outcome satisfies FeedMessage);
  port.close();
}

/** Copies a large frame in slices: its pages are new memory, so copying 5 MiB takes up to 5 ms. */
async function pack(frames: readonly StoredFrame[], sizeBytes: number, slice: Slice): Promise<PackedFrames> {
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  for (const frame of frames)
    for (let from = 0; from < frame.bytes.length; from += PACK_BYTES) {
      const piece = frame.bytes.subarray(from, from + PACK_BYTES);
      bytes.set(piece, at);
      at += piece.length;
      if (slice.due) await slice.next();
    }
  const positions = Float64Array.from(frames, ({ position }) => position);
  return { positions, lengths: Uint32Array.from(frames, (frame) => frame.bytes.length), bytes };
}

function* unpacked({ positions, lengths, bytes }: PackedFrames): Generator<StoredFrame> {
  let at = 0;
  for (const [i, position] of positions.entries()) {
    yield { position, bytes: bytes.subarray(at, at + lengths[i]!) };
    at += lengths[i]!;
  }
}

/**
 * Whether the frame has event `upTo`. Bytes that are not a frame end the reading; the other thread finds the damage.
 */
function reaches({ bytes }: StoredFrame, upTo: number): boolean {
  try {
    const { firstSequence, events } = readFrameHeader(bytes);
    return firstSequence + events > upTo;
  } catch {
    return true;
  }
}
