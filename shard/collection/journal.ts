/**
 * A collection's log and where the state stands in it. Whether a frame was just committed here, committed by an earlier
 * owner or read at a restart: it is verified and applied by the same lines.
 */
import type { CollectionConfig, Receipt } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { EMPTY_LOG } from '../../shared/log/chain.js';
import { type Event, genesisOf } from '../../shared/log/event.js';
import { eventSizeBytes } from '../../shared/log/eventLayout.js';
import { type EventLog, LogDamaged, type Position, type StoredFrame } from '../../shared/log/eventLog.js';
import {
  claimedStart,
  EVENT_PREFIX_BYTES,
  FRAME_OVERHEAD_BYTES,
  type Frame,
  readFrameHeader,
} from '../../shared/log/frame.js';
import { buildFrame } from '../../shared/log/frameWriter.js';
import { sequenceAfter } from '../../shared/log/lostFrames.js';
import { Malformed } from '../../shared/malformed.js';
import { finish } from '../audit/merkleTree.js';
import { inSlices, nextTurn, Slice } from '../pause.js';
import { writeReceipt } from '../proof/writeReceipt.js';
import type { CollectionState } from './collectionState.js';
import { Damaged, noticingDamage } from './damaged.js';
import { type FramePlace, LogHistory } from './history.js';
import { assertReaches } from './lostEnd.js';
import { assertLiveRecords, configHashIn, verifiedFrame } from './replay.js';

/** Is told of every frame that is committed here, as soon as it is durable. */
export type Feed = (committed: StoredFrame) => void;

/** Called after an event of a commit is applied; the receipt is made only where it is asked for, and only then. */
export type OnApplied = (sequence: number, makeReceipt: () => Receipt) => void;

export class Journal {
  /** Undefined while nobody follows. */
  feed: Feed | undefined;
  /** Whether the log may hold a frame that the state does not: the outcome of the last append is not known. */
  #unsettled = false;
  /** While the state holds a part of a frame that the history does not. */
  #applying: Promise<void> | undefined;
  /** The sequence of the last event that is in the state. */
  #seen = 0;

  constructor(
    private readonly config: CollectionConfig,
    private readonly log: EventLog,
    private readonly state: CollectionState,
    private readonly clock: Clock,
    /** Of what is applied. */
    readonly history = new LogHistory(),
  ) {}

  /** Committed events, the genesis not counted. */
  get sequence(): number {
    return this.history.sequence;
  }

  /** What a search that begins now sees: as `sequence`, and in the middle of a frame as far as that has come. */
  get seenSequence(): number {
    return Math.max(this.sequence, this.#seen);
  }

  get timeMs(): number {
    return Math.max(this.history.end.lastTimeMs, this.config.createdAtMs);
  }

  get logBytes(): number {
    return this.history.end.logBytes;
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
      for await (const { position, bytes } of this.log.read(this.history.position)) {
        const frame = await verifiedFrame(bytes, this.history.end, position);
        await this.#apply(frame, position);
      }
    });
  }

  /**
   * Applies a frame that the owner has committed, where it is the next one; passes over one that is applied. False where it
   * is neither, or does not verify: then the log has to be read. Throws Damaged where the state cannot take what verifies.
   */
  async take({ position, bytes }: StoredFrame): Promise<boolean> {
    const { end } = this.history;
    const { firstSequence, events } = claimedEvents(bytes);
    if (firstSequence + events <= end.nextSequence) return true;
    if (firstSequence !== end.nextSequence) return false;
    const frame = await verifiedFrame(bytes, end, position).catch(unlessDamaged);
    if (frame === undefined) return false;
    await this.#apply(frame, position);
    return true;
  }

  /**
   * Must come before a commit: learns whether the append before went through after all. Throws Damaged where the log does
   * not even hold what was applied: then it was refused because of that.
   */
  async settle(): Promise<void> {
    if (!this.#unsettled) return;
    await this.catchUp();
    const { sequence, config, log, clock } = this;
    if (sequence > 0 && !(await this.#isStored()))
      await assertReaches(log, config.id, sequence, `event ${sequence} was applied`, clock);
    this.#unsettled = false;
  }

  /** Whether the log still holds the frame that was applied last. What stands behind it may be one that lost. */
  async #isStored(): Promise<boolean> {
    try {
      return sequenceAfter(await this.log.readAt(this.history.position)) === this.sequence + 1;
    } catch (error) {
      if (error instanceof LogDamaged) return false;
      throw error;
    }
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
    const { end } = this.history;
    const all = end === EMPTY_LOG ? [genesisOf(this.config), ...events] : events;
    await this.adopt(await buildFrame(all, end, liveRecordsAfter, nextTurn), deadlineMs, onDurable, onApplied);
  }

  /** The same for a frame that is known to continue the log, and to be of events that can be applied. */
  async adopt(
    frame: Frame,
    deadlineMs: number,
    onDurable: (frameBytes: number) => void,
    onApplied?: OnApplied,
  ): Promise<void> {
    this.#unsettled = true;
    const position = await noticingDamage(() => this.log.append(frame.bytes, this.history.position, deadlineMs));
    this.#unsettled = false;
    this.feed?.({ position, bytes: frame.bytes });
    onDurable(frame.bytes.length);
    await this.#apply(frame, position, onApplied);
  }

  /**
   * The receipt of a write of a record however long ago, made from its frame and the history of the state tree: costs a
   * look and some hashes for each change made since, in slices. `afterRest` may end it by throwing.
   */
  receiptOf(sequence: number, frame: Frame, afterRest: () => void): Promise<Receipt> {
    const index = sequence - frame.header.firstSequence;
    return inSlices(writeReceipt(frame, index, this.state, this.history.configHash), this.clock, afterRest);
  }

  /** The frame that holds an event which is applied, read from the log and verified. */
  frameWith(sequence: number): Promise<Frame> {
    return this.#frame(this.history.frameWith(sequence));
  }

  /** Resolves when no part of a frame is in the state that has not all of it: then everything of it is at `sequence`. */
  async whole(): Promise<void> {
    while (this.#applying !== undefined) await this.#applying;
  }

  /** A committed event, read from its frame anew. */
  async eventAt(sequence: number): Promise<Event> {
    const { header, events } = await this.#frame(this.history.frameWith(sequence));
    return events[sequence - header.firstSequence]!;
  }

  /** The sequence of the last committed event at or before an instant; 0 before the first. */
  sequenceAt(timeMs: number): number {
    return Math.max(0, Math.min(this.sequence, this.state.lifetimes.sequenceAt(timeMs)));
  }

  /** Whether the state is the one after exactly `sequence` events, and nothing of a later one is in it. */
  isAt(sequence: number): boolean {
    return this.#applying === undefined && this.sequence === sequence;
  }

  /** Whether the state is that after a whole frame. */
  get isWhole(): boolean {
    return this.#applying === undefined;
  }

  /** Of the state as it is; it must be at `sequence`, and that is not 0. */
  stateHash(): Uint8Array {
    const { configHash, end } = this.history;
    const { chainHead, lastTimeMs: timeMs } = end;
    return this.state.hash({ configHash, chainHead, sequence: this.sequence, timeMs });
  }

  async #frame({ position }: FramePlace): Promise<Frame> {
    const bytes = await noticingDamage(() => this.log.readAt(position));
    return verifiedFrame(bytes, claimedStart(bytes), position);
  }

  async #apply(frame: Frame, position: Position, onApplied?: OnApplied): Promise<void> {
    const { header, events } = frame;
    if (header.firstSequence === 0) this.history.begin(configHashIn(frame, this.config));
    // Memory that ran out in the middle of a frame would leave half of it applied.
    this.state.vectors.reserve(events.filter(({ type }) => type === 'insert').length);
    this.#applying = this.#applyEvents(frame, position, onApplied);
    await this.#applying;
    // Where it fails it stays: the state is of no use any more, and who waits for it learns why.
    this.#applying = undefined;
  }

  async #applyEvents(frame: Frame, position: Position, onApplied?: OnApplied): Promise<void> {
    const { events } = frame;
    const slice = new Slice(this.clock);
    let inTree = 0;
    for (let index = 0; index < events.length; index++) {
      const event = events[index]!;
      this.state.apply(event);
      this.#seen = event.sequence;
      // Before anyone asks for a root, which would do all of it at once.
      while (this.state.graph.settleSome()) if (slice.due) await slice.next();
      onApplied?.(event.sequence, () => finish(writeReceipt(frame, index, this.state, this.history.configHash)));
      if (!slice.due) continue;
      inTree = this.#growTree(frame, inTree, index + 1);
      await slice.next();
    }
    this.#growTree(frame, inTree, events.length);
    assertLiveRecords(this.state, frame, position);
    this.history.add(frame, position);
  }

  /** Many heads at once cost less than each alone. Returns `to`. */
  #growTree({ chainHeads }: Frame, from: number, to: number): number {
    this.history.tree.append(chainHeads.subarray(from * HASH_BYTES, to * HASH_BYTES));
    return to;
  }
}

/** Of a frame that is not verified. One that is none says that it has no events, and so continues nothing. */
function claimedEvents(bytes: Uint8Array): { readonly firstSequence: number; readonly events: number } {
  try {
    return readFrameHeader(bytes);
  } catch (error) {
    if (error instanceof Malformed) return { firstSequence: Number.POSITIVE_INFINITY, events: 0 };
    throw error;
  }
}

function unlessDamaged(error: unknown): undefined {
  if (!(error instanceof Damaged)) throw error;
}
