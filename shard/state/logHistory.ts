/** The applied frames of a log: their places, the log tree over their events, and the end of the log. */
import { EMPTY_HASH } from '../../shared/hashing/hash.js';
import { EMPTY_LOG, type LogEnd } from '../../shared/log/chain.js';
import { LOG_START, type Position } from '../../shared/log/eventLog.js';
import type { Frame } from '../../shared/log/frame.js';
import { ChunkedRows } from '../audit/chunkedRows.js';
import { LogTree } from '../audit/logTree.js';

/** First event of a frame, and the frame's position in the log. */
export interface FramePlace {
  readonly firstSequence: number;
  readonly firstTimeMs: number;
  readonly position: Position;
}

export class LogHistory {
  /** Covers the applied events, even those of a frame that is partly applied. */
  readonly tree = new LogTree();
  #end: LogEnd = EMPTY_LOG;
  #position: Position = LOG_START;
  #configHash: Uint8Array = EMPTY_HASH;
  /** First sequence, its time, and position of each frame. */
  readonly #frames = new ChunkedRows<Float64Array>((elements) => new Float64Array(elements), 3);

  /** End of the log after the last applied frame. */
  get end(): LogEnd {
    return this.#end;
  }

  /** Position of the last applied frame. */
  get position(): Position {
    return this.#position;
  }

  /** Hash of the genesis event; empty before the first frame. */
  get configHash(): Uint8Array {
    return this.#configHash;
  }

  /** Number of committed events in whole frames, without the genesis. */
  get sequence(): number {
    return Math.max(this.#end.nextSequence - 1, 0);
  }

  /** Call it before the events of the first frame. */
  begin(configHash: Uint8Array): void {
    this.#configHash = configHash;
  }

  /** Adds a frame whose events are all applied, and whose chain heads are in the tree. */
  add({ header, events, end }: Frame, position: Position): void {
    this.restoreFrame({ firstSequence: header.firstSequence, firstTimeMs: events[0]!.timeMs, position });
    this.#position = position;
    this.#end = end;
  }

  get frames(): number {
    return this.#frames.length;
  }

  /** Returns the frame with this index, counted from 0. */
  frame(index: number): FramePlace {
    const [firstSequence, firstTimeMs, position] = this.#frames.at(index) as unknown as [number, number, Position];
    return { firstSequence, firstTimeMs, position };
  }

  /** Adds the next frame of a snapshot. `restoreEnd` follows the last one. */
  restoreFrame({ firstSequence, firstTimeMs, position }: FramePlace): void {
    this.#frames.append(Float64Array.of(firstSequence, firstTimeMs, position));
  }

  restoreEnd(configHash: Uint8Array, end: LogEnd, position: Position): void {
    this.#configHash = configHash;
    this.#end = end;
    this.#position = position;
  }

  /** Returns the frame of an event. The whole frame must be applied. */
  frameWith(sequence: number): FramePlace {
    return this.frame(this.#frames.firstNotBelow(0, sequence + 1) - 1);
  }
}
