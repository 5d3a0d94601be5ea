/** What there is to know of the frames of a log that were applied to a state. */
import { EMPTY_HASH } from '../../shared/hash.js';
import { EMPTY_LOG, type LogEnd } from '../../shared/log/chain.js';
import { LOG_START, type Position } from '../../shared/log/eventLog.js';
import type { Frame } from '../../shared/log/frame.js';
import { LogTree } from '../audit/logTree.js';

/** The frame that holds an event: what it begins with, and where it stands. */
export interface FramePlace {
  readonly firstSequence: number;
  readonly firstTimeMs: number;
  readonly position: Position;
}

export class LogHistory {
  /** Over the events that were applied; those of a frame half-way applied included. */
  readonly tree = new LogTree();
  #end: LogEnd = EMPTY_LOG;
  #position: Position = LOG_START;
  #configHash: Uint8Array = EMPTY_HASH;
  readonly #firstSequences: number[] = [];
  readonly #firstTimesMs: number[] = [];
  readonly #positions: Position[] = [];

  /** Where the log ends after the last frame. */
  get end(): LogEnd {
    return this.#end;
  }

  /** Of the last frame. */
  get position(): Position {
    return this.#position;
  }

  /** The genesis event's hash; empty before the first frame. */
  get configHash(): Uint8Array {
    return this.#configHash;
  }

  /** Committed events in whole frames, the genesis not counted. */
  get sequence(): number {
    return Math.max(this.#end.nextSequence - 1, 0);
  }

  /** Before the events of the first frame. */
  begin(configHash: Uint8Array): void {
    this.#configHash = configHash;
  }

  /** The frame's events are applied, all of them, and their chain heads in the tree. */
  add({ header, events, end }: Frame, position: Position): void {
    this.#firstSequences.push(header.firstSequence);
    this.#firstTimesMs.push(events[0]!.timeMs);
    this.#positions.push(position);
    this.#position = position;
    this.#end = end;
  }

  get frames(): number {
    return this.#positions.length;
  }

  /** In order, from 0. */
  frame(index: number): FramePlace {
    return this.#place(index)!;
  }

  /** The next frame of a history that comes from a snapshot; `restoreEnd` comes last. */
  restoreFrame({ firstSequence, firstTimeMs, position }: FramePlace): void {
    this.#firstSequences.push(firstSequence);
    this.#firstTimesMs.push(firstTimeMs);
    this.#positions.push(position);
  }

  restoreEnd(configHash: Uint8Array, end: LogEnd, position: Position): void {
    this.#configHash = configHash;
    this.#end = end;
    this.#position = position;
  }

  /** The frame with event `sequence`, which is in a whole frame. */
  frameWith(sequence: number): FramePlace {
    return this.#place(lastUpTo(this.#firstSequences, sequence))!;
  }

  #place(index: number): FramePlace | undefined {
    if (index < 0) return undefined;
    return {
      firstSequence: this.#firstSequences[index]!,
      firstTimeMs: this.#firstTimesMs[index]!,
      position: this.#positions[index]!,
    };
  }
}

/** The index of the last of ascending numbers that is not greater than `value`; −1 where all are. */
function lastUpTo(numbers: readonly number[], value: number): number {
  let low = -1;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (numbers[middle]! <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
