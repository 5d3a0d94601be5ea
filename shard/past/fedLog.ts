import type { Position, StoredFrame } from '../../shared/log/eventLog.js';
import type { FromWorker, PackedFrames } from './messages.js';
import type { FrameSource } from './opening.js';
import { answerOf, type Outcome } from './outcome.js';

/** The frames of one reading, as they come from the owner's thread. */
class Fed {
  readonly #waiting: PackedFrames[] = [];
  #end: Outcome<null> | undefined;
  #arrived: () => void = () => undefined;

  push(frames: PackedFrames): void {
    this.#waiting.push(frames);
    this.#arrived();
  }

  end(outcome: Outcome<null>): void {
    this.#end = outcome;
    this.#arrived();
  }

  /** Undefined at the end. Throws what the reading of the log threw. */
  async next(): Promise<PackedFrames | undefined> {
    for (;;) {
      const frames = this.#waiting.shift();
      if (frames !== undefined) return frames;
      if (this.#end !== undefined) {
        answerOf(this.#end);
        return undefined;
      }
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
  }
}

/** The logs that the owner's thread reads, for the thread of past states. */
export class FedLogs {
  readonly #feeds = new Map<number, Fed>();
  #newest = 0;

  constructor(private readonly post: (message: FromWorker) => void) {}

  /** `opening`: the number of one. */
  logOf(opening: number): FrameSource {
    return { read: (after, upTo, inFlightBytes) => this.#read(opening, after, upTo, inFlightBytes) };
  }

  frames(feed: number, frames: PackedFrames): void {
    this.#feeds.get(feed)?.push(frames);
  }

  end(feed: number, outcome: Outcome<null>): void {
    this.#feeds.get(feed)?.end(outcome);
  }

  async *#read(
    opening: number,
    after: Position,
    upTo: number,
    inFlightBytes: number | undefined,
  ): AsyncGenerator<StoredFrame> {
    const feed = ++this.#newest;
    const fed = new Fed();
    this.#feeds.set(feed, fed);
    this.post({ op: 'read', feed, opening, after, upTo, inFlightBytes });
    try {
      for (let packed = await fed.next(); packed !== undefined; packed = await fed.next()) {
        yield* unpacked(packed);
        this.post({ op: 'taken', feed, sizeBytes: packed.bytes.length });
      }
    } finally {
      this.#feeds.delete(feed);
      this.post({ op: 'enough', feed });
    }
  }
}

function* unpacked({ positions, lengths, bytes }: PackedFrames): Generator<StoredFrame> {
  let at = 0;
  for (const [i, position] of positions.entries()) {
    yield { position, bytes: bytes.subarray(at, at + lengths[i]!) };
    at += lengths[i]!;
  }
}
