/** Where the frames of a log come from. */
import type { EventPlace } from './recordTable.js';

/** A byte that a person can go and look at. */
export interface Place {
  /** The file, or the stream. */
  readonly name: string;
  /** Of a stream: the message's sequence. */
  readonly message?: number;
  /** In the file, or in the message. */
  readonly byte: number;
}

/** `position` grows from frame to frame and means something to the source alone. */
export interface PlacedFrame {
  readonly position: number;
  /** May be overwritten when the next frame is asked for. */
  readonly bytes: Buffer;
}

export interface FrameSource {
  /** What `frames` will go through; 0 where that is not known. */
  readonly sizeBytes: number;
  /** Throws SourceRefused where what holds the frames does not verify. */
  frames(): AsyncGenerator<PlacedFrame, void, undefined>;
  /** An event of a frame that `frames` has given. */
  readAgain(place: EventPlace): Promise<Buffer>;
  placeOf(position: number, offset: number): Place;
  close(): Promise<void>;
}

/** What holds the frames does not verify, be the frames as they may. */
export class SourceRefused extends Error {
  constructor(
    readonly place: Place,
    what: string,
  ) {
    super(what);
  }
}

/** Frames that are at hand already. */
export class GivenFrames implements FrameSource {
  readonly sizeBytes: number;

  constructor(private readonly given: readonly Uint8Array[]) {
    this.sizeBytes = given.reduce((sum, { length }) => sum + length, 0);
  }

  async *frames(): AsyncGenerator<PlacedFrame, void, undefined> {
    for (const position of this.given.keys()) yield { position, bytes: this.#bytes(position) };
  }

  async readAgain({ position, offset, length }: EventPlace): Promise<Buffer> {
    return this.#bytes(position).subarray(offset, offset + length);
  }

  placeOf(position: number, offset: number): Place {
    return { name: `frame ${position}`, byte: offset };
  }

  async close(): Promise<void> {}

  #bytes(position: number): Buffer {
    const { buffer, byteOffset, length } = this.given[position]!;
    return Buffer.from(buffer, byteOffset, length);
  }
}
