/**
 * A collection's log and where the state stands in it. Whether a frame was just committed here, committed by an earlier
 * owner or read at a restart: it is verified and applied by the same lines.
 */
import type { CollectionConfig, Receipt } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { EMPTY_HASH } from '../../shared/hash.js';
import { EMPTY_LOG, type LogEnd } from '../../shared/log/chain.js';
import { type Event, genesisOf } from '../../shared/log/event.js';
import { eventSizeBytes } from '../../shared/log/eventLayout.js';
import { type EventLog, LOG_START, type Position } from '../../shared/log/eventLog.js';
import {
  chainHeadBefore,
  claimedStart,
  EVENT_PREFIX_BYTES,
  FRAME_OVERHEAD_BYTES,
  type Frame,
  hashAt,
} from '../../shared/log/frame.js';
import { buildFrame } from '../../shared/log/frameWriter.js';
import { makeReceipt } from '../audit/receipt.js';
import { nextTurn, Slice } from '../pause.js';
import type { CollectionState } from './collectionState.js';
import { noticingDamage } from './damaged.js';
import { assertLiveRecords, configHashIn, verifiedFrame } from './replay.js';

/** Called after an event of a commit is applied; the receipt is made only where it is asked for, and only then. */
export type OnApplied = (sequence: number, makeReceipt: () => Receipt) => void;

export class Journal {
  #end: LogEnd = EMPTY_LOG;
  #position: Position = LOG_START;
  /** Whether the log may hold a frame that the state does not: the outcome of the last append is not known. */
  #unsettled = false;
  /** Whether the state holds a part of a frame that `#end` does not. */
  #isApplying = false;
  #configHash: Uint8Array = EMPTY_HASH;
  // For each frame the sequence and the time of its first event, and its position.
  readonly #firstSequences: number[] = [];
  readonly #firstTimesMs: number[] = [];
  readonly #positions: Position[] = [];

  constructor(
    private readonly config: CollectionConfig,
    private readonly log: EventLog,
    private readonly state: CollectionState,
    private readonly clock: Clock,
  ) {}

  /** Committed events, the genesis not counted. */
  get sequence(): number {
    return Math.max(this.#end.nextSequence - 1, 0);
  }

  get timeMs(): number {
    return Math.max(this.#end.lastTimeMs, this.config.createdAtMs);
  }

  get logBytes(): number {
    return this.#end.logBytes;
  }

  /** What the events of one frame may take, with their prefixes, the genesis not counted. */
  get eventBytesMax(): number {
    return this.log.maxFrameBytes - FRAME_OVERHEAD_BYTES - EVENT_PREFIX_BYTES - eventSizeBytes(genesisOf(this.config));
  }

  /** Whether the outcome of the last commit is not known yet. */
  get unsettled(): boolean {
    return this.#unsettled;
  }

  /** Reads and applies what the log holds beyond the state. Throws Damaged where it does not verify. */
  catchUp(): Promise<void> {
    return noticingDamage(async () => {
      for await (const { position, bytes } of this.log.read(this.#position)) {
        const frame = await verifiedFrame(bytes, this.#end, position);
        await this.#apply(frame, position);
      }
    });
  }

  /** Must come before a commit: learns whether the append before went through after all. */
  async settle(): Promise<void> {
    if (!this.#unsettled) return;
    await this.catchUp();
    this.#unsettled = false;
  }

  /**
   * Makes the events durable, then applies them. `onDurable` is told the frame's size. Throws VouchError `unavailable`
   * where the outcome is not known or another owner has written; the state then still is what it was.
   */
  async commit(
    events: readonly Event[],
    liveRecordsAfter: number,
    deadlineMs: number,
    onDurable: (frameBytes: number) => void,
    onApplied: OnApplied,
  ): Promise<void> {
    const all = this.#end === EMPTY_LOG ? [genesisOf(this.config), ...events] : events;
    const frame = await buildFrame(all, this.#end, liveRecordsAfter, nextTurn);
    this.#unsettled = true;
    const position = await noticingDamage(() => this.log.append(frame.bytes, this.#position, deadlineMs));
    this.#unsettled = false;
    onDurable(frame.bytes.length);
    await this.#apply(frame, position, onApplied);
  }

  /** The receipt of an insert however long ago, made from its frame and the history of the state tree. */
  async receiptAt(sequence: number): Promise<Receipt> {
    const frame = await this.#frame(lastUpTo(this.#firstSequences, sequence));
    return this.#receipt(frame, sequence - frame.header.firstSequence);
  }

  /** The sequence of the last event at or before an instant; 0 before the first. Reads one frame at most. */
  async sequenceAt(timeMs: number): Promise<number> {
    if (timeMs >= this.#end.lastTimeMs) return this.sequence;
    const index = lastUpTo(this.#firstTimesMs, timeMs);
    if (index < 0) return 0;
    const { events } = await this.#frame(index);
    return events.findLast((event) => event.timeMs <= timeMs)!.sequence;
  }

  /** Whether the state is the one after exactly `sequence` events, and nothing of a later one is in it. */
  isAt(sequence: number): boolean {
    return !this.#isApplying && this.sequence === sequence;
  }

  /** Of the state as it is; it must be at `sequence`, and that is not 0. */
  stateHash(): Uint8Array {
    const { chainHead, lastTimeMs: timeMs } = this.#end;
    return this.state.hash({ configHash: this.#configHash, chainHead, sequence: this.sequence, timeMs });
  }

  async #frame(index: number): Promise<Frame> {
    const position = this.#positions[index]!;
    const bytes = await noticingDamage(() => this.log.readAt(position));
    return verifiedFrame(bytes, claimedStart(bytes), position);
  }

  async #apply(frame: Frame, position: Position, onApplied?: OnApplied): Promise<void> {
    const { header, events } = frame;
    if (header.firstSequence === 0) this.#configHash = configHashIn(frame, this.config);
    // Memory that ran out in the middle of a frame would leave half of it applied.
    this.state.vectors.reserve(events.filter(({ type }) => type === 'insert').length);
    this.#isApplying = true;
    const slice = new Slice(this.clock);
    for (const [index, event] of events.entries()) {
      this.state.apply(event);
      onApplied?.(event.sequence, () => this.#receipt(frame, index));
      if (slice.due) await slice.next();
    }
    assertLiveRecords(this.state, frame, position);
    this.#isApplying = false;
    this.#firstSequences.push(header.firstSequence);
    this.#firstTimesMs.push(events[0]!.timeMs);
    this.#positions.push(position);
    this.#position = position;
    this.#end = frame.end;
  }

  #receipt(frame: Frame, index: number): Receipt {
    const event = frame.events[index];
    if (event?.type !== 'insert') throw new Error('a receipt was asked of an event that is no insert');
    const { recordId, sequence, timeMs } = event;
    const facts = {
      recordId,
      sequence,
      timeMs,
      chainHeadBefore: chainHeadBefore(frame, index),
      eventHash: hashAt(frame.eventHashes, index),
      graphRoot: this.state.graph.rootAt(sequence),
      configHash: this.#configHash,
    };
    // The record an insert makes is the last leaf there is.
    return makeReceipt(facts, this.state.tree.writeAt(recordId - 1, recordId, sequence));
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
