/** Sources of a log's frames. */
import type { EventPlace } from './recordTable.js';

/** The position of a byte, for people. */
export interface Place {
  /** The name of the file or stream. */
  readonly name: string;
  /** The sequence of the message in a stream. */
  readonly message?: number;
  /** The position in the file or message. */
  readonly byte: number;
}

/** A frame. `position` grows from frame to frame; only its source can interpret it. */
export interface PlacedFrame {
  readonly position: number;
  /** May be overwritten when the next frame is asked for. */
  readonly bytes: Uint8Array;
}

export interface FrameSource {
  /** The number of bytes that `frames` reads; 0 if unknown. */
  readonly sizeBytes: number;
  /** The frames in order. Throws SourceRefused if the file or stream around them does not verify. */
  frames(): AsyncGenerator<PlacedFrame, void, undefined>;
  /** Reads again an event of a frame that `frames` has returned. */
  readAgain(place: EventPlace): Promise<Uint8Array>;
  placeOf(position: number, offset: number): Place;
  close(): Promise<void>;
}

/** A file or stream around the frames that does not verify. */
export class SourceRefused extends Error {
  constructor(
    readonly place: Place,
    what: string,
  ) {
    super(what);
  }
}

/** Frames in memory. */
export class GivenFrames implements FrameSource {
  readonly sizeBytes: number;

  constructor(private readonly given: readonly Uint8Array[]) {
    this.sizeBytes = given.reduce((sum, { length }) => sum + length, 0);
  }

  async *frames(): AsyncGenerator<PlacedFrame, void, undefined> {
    for (const [position, bytes] of this.given.entries()) yield { position, bytes };
  }

  async readAgain({ position, offset, length }: EventPlace): Promise<Uint8Array> {
    return this.given[position]!.subarray(offset, offset + length);
  }

  placeOf(position: number, offset: number): Place {
    return { name: `frame ${position}`, byte: offset };
  }

  async close(): Promise<void> {}
}
