/**
 * A collection's log, and how far the state has applied it. One code path verifies and applies every frame: committed here,
 * published by the owner, or read from the log.
 *
 * The newest append of this process:
 *
 * ```
 *   settled ──adopt()──▶ appending ──stored──▶ settled
 *   appending ──failed──▶ unknown ──the log is read──▶ late ──its time is over, and the log is read──▶ settled
 *   unknown ──its time is over, and the log is read──▶ settled
 *   late ──an ownership begins──▶ settled
 * ```
 *
 * An append of unknown outcome may be stored until its time is over. It cannot be stored any more once another append is.
 */
import { unreachable } from '../../shared/errors/errors.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { EMPTY_LOG } from '../../shared/log/chain.js';
import { Damaged, noticingDamage } from '../../shared/log/damaged.js';
import { type Event, genesisOf } from '../../shared/log/event.js';
import type { EventLog, Position, StoredFrame } from '../../shared/log/eventLog.js';
import { buildFrame, claimedStart, FRAME_OVERHEAD_BYTES, type Frame, frameSizeBytes } from '../../shared/log/frame.js';
import { sequenceAfter } from '../../shared/log/supersededFrames.js';
import { reuseLong } from '../../shared/longMemory.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { HeldBytes } from '../../shared/model/quotas.js';
import type { Receipt } from '../../shared/model/receipt.js';
import { noteWork } from '../../shared/scheduling/currentWork.js';
import { Mutex } from '../../shared/scheduling/mutex.js';
import { atOnce, inSlices, Slice, sliceTurns } from '../../shared/scheduling/slice.js';
import { InsertedLeaves } from '../audit/insertedLeaves.js';
import type { CollectionState } from './collectionState.js';
import type { CommitBuilder } from './commitBuilder.js';
import type { JournalServices } from './journalServices.js';
import { LogHistory } from './logHistory.js';
import { assertLiveRecords, claimedEvents, configHashIn, takesRow, verifiedFrame } from './replay.js';
import { assertReaches, lostBeginning, orGone, readStored, WHAT_TO_DO } from './truncatedLog.js';
import { writeReceipt } from './writeReceipt.js';

/** Receives every frame that is committed here, as soon as it is durable. */
export type Feed = (committed: StoredFrame) => void;

/** Called after each event of a commit is applied. `makeReceipt` works only during the call. */
type OnApplied = (sequence: number, makeReceipt: () => Receipt) => void;

type AppendState =
  | { readonly kind: 'settled' }
  | { readonly kind: 'appending' }
  /** The append failed, and the log has not been read since. It may be stored until `untilMs`, on the monotonic clock. */
  | { readonly kind: 'unknown'; readonly untilMs: number }
  /** The log was read after the failure. An append that it did not hold then may still be stored until `untilMs`. */
  | { readonly kind: 'late'; readonly untilMs: number };

const SETTLED: AppendState = { kind: 'settled' };
const APPENDING: AppendState = { kind: 'appending' };

export class Journal {
  /** Publishes to followers; undefined while the collection has no follower. */
  feed: Feed | undefined;
  /** Called when a shred is applied; the contents under the key are erased. */
  onShred: (() => void) | undefined;
  /** Called before an event is verified or applied, and again when that resumes. */
  onStep: ((sequence: number) => void) | undefined;
  readonly history: LogHistory;
  #append: AppendState = SETTLED;
  /** Until this time, on the monotonic clock, an append of an earlier owner may be stored; undefined: it cannot be. */
  #othersUntilMs: number | undefined;
  /** Defined while the state holds a part of a frame, and `history` does not hold that frame. */
  #applying: Promise<void> | undefined;
  /** The sequence of the newest event in the state. It is above `sequence` only while a frame is being applied. */
  #seen = 0;
  readonly #genesisBytes: number;
  /**
   * One reading at a time, since a caller that gave up may have left one running. The slower of two readings would take for
   * damage what the other has applied.
   */
  readonly #readings = new Mutex();

  constructor(
    private readonly config: CollectionConfig,
    private readonly log: EventLog,
    private readonly state: CollectionState,
    private readonly services: JournalServices,
  ) {
    this.history = services.history ?? new LogHistory();
    this.#genesisBytes = frameSizeBytes([genesisOf(config)]) - FRAME_OVERHEAD_BYTES;
  }

  /** Committed events, the genesis not counted. */
  get sequence(): number {
    return this.history.sequence;
  }

  /** The last event that a search sees now; in the middle of a frame it is beyond `sequence`. */
  get seenSequence(): number {
    return Math.max(this.sequence, this.#seen);
  }

  get timeMs(): number {
    return Math.max(this.history.end.lastTimeMs, this.config.createdAtMs);
  }

  /** See `EventLog`. */
  get added(): number {
    return this.log.added;
  }

  get logBytes(): number {
    return this.history.end.logBytes;
  }

  /** The most bytes that the events of one frame may take, with their prefixes, the genesis not counted. */
  get eventBytesMax(): number {
    return this.log.maxFrameBytes - FRAME_OVERHEAD_BYTES - this.#genesisBytes;
  }

  /** The bytes that the state takes besides the log, after event `sequence`; undefined in the middle of a frame. */
  get heldBytes(): HeldBytes | undefined {
    return this.isWhole ? this.state.heldBytes : undefined;
  }

  /** The most bytes that a frame takes besides its events and their prefixes. */
  get frameOverheadBytes(): number {
    return this.sequence > 0 ? FRAME_OVERHEAD_BYTES : FRAME_OVERHEAD_BYTES + this.#genesisBytes;
  }

  /** Whether an append of this process may still be stored although its outcome is unknown. */
  get isUnsettled(): boolean {
    return this.#append.kind !== 'settled';
  }

  /** Whether no earlier owner can add to the log any more, and the state has everything that they added. */
  get isAlone(): boolean {
    return this.#othersUntilMs === undefined;
  }

  /** Whether the time of a late append is over, so that `settle` learns its outcome. */
  get canSettle(): boolean {
    return this.#isOver(this.#ownUntilMs) || this.#isOver(this.#othersUntilMs);
  }

  /** Until this time the newest append of this process may be stored without its knowledge; undefined: it cannot be. */
  get #ownUntilMs(): number | undefined {
    const append = this.#append;
    switch (append.kind) {
      case 'settled':
        return undefined;
      case 'appending':
        return Number.POSITIVE_INFINITY;
      case 'unknown':
      case 'late':
        return append.untilMs;
      default:
        return unreachable(append);
    }
  }

  #isOver(untilMs: number | undefined): boolean {
    return untilMs !== undefined && this.services.clock.monotonicMs() >= untilMs;
  }

  /** Begins an ownership. `othersUntilMs`: until then, on the monotonic clock, a late append of an earlier owner may be stored. */
  beginOwnership(othersUntilMs: number | undefined): void {
    this.#othersUntilMs = othersUntilMs;
    if (this.#append.kind === 'late') this.#append = SETTLED;
  }

  /** Reads and applies what the log holds beyond the state. Throws Damaged if it does not verify. */
  catchUp(): Promise<void> {
    return this.#readings.run(() => this.#readRest());
  }

  /** Catches up, and misses nothing that was durable at the call, whichever server answers. Throws as `catchUp`. */
  catchUpToOwn(): Promise<void> {
    return this.#readings.run(async () => {
      await this.log.barrier();
      await this.#readRest();
    });
  }

  #readRest(): Promise<void> {
    return noticingDamage(async () => {
      for await (const { position, bytes } of this.log.read(this.history.position)) {
        noteWork('replay', this.config);
        this.onStep?.(this.history.end.nextSequence);
        const frame = await verifiedFrame(bytes, this.history.end, position);
        await this.#apply(frame, position);
      }
    });
  }

  /**
   * Applies a frame of the owner if it is the next one, and ignores one that is applied. False if it is neither or does not
   * verify: then the log has to be read. Throws Damaged if the frame verifies and cannot be applied.
   */
  async take({ position, bytes }: StoredFrame): Promise<boolean> {
    const { end } = this.history;
    const { firstSequence, events } = claimedEvents(bytes);
    if (firstSequence + events <= end.nextSequence) return true;
    if (firstSequence !== end.nextSequence) return false;
    let frame: Frame;
    try {
      frame = await verifiedFrame(bytes, end, position);
    } catch (error) {
      if (error instanceof Damaged) return false;
      throw error;
    }
    await this.#apply(frame, position);
    return true;
  }

  /**
   * Learns whether an append of unknown outcome succeeded, and what earlier owners have added late. Must be called before a
   * commit. Throws Damaged if the log does not even hold what was applied, which is then why it refused the append.
   */
  async settle(): Promise<void> {
    const append = this.#append;
    const [isOwnOver, areOthersOver] = [this.#isOver(this.#ownUntilMs), this.#isOver(this.#othersUntilMs)];
    if (append.kind !== 'unknown' && !isOwnOver && !areOthersOver) return;
    await this.catchUp();
    if (append.kind === 'unknown') {
      await this.#assertEnd();
      this.#append = { kind: 'late', untilMs: append.untilMs };
    }
    if (isOwnOver) this.#append = SETTLED;
    if (areOthersOver) this.#othersUntilMs = undefined;
  }

  /**
   * Throws Damaged if the log does not hold the first and the last applied frame. Frames between them are never removed.
   * `loss`: the reason, if a loss is known already.
   */
  async assertStored(loss?: string): Promise<void> {
    if (this.sequence === 0) return;
    if (loss !== undefined) throw new Damaged(`${loss}; ${WHAT_TO_DO}`);
    await this.#assertEnd();
    const first = await orGone(readStored(this.log, this.history.frame(0).position, this.services.clock));
    if (first === undefined) throw lostBeginning();
  }

  /** Ignores what follows the last frame: it may be a superseded frame. */
  async #assertEnd(): Promise<void> {
    const { sequence, config, log } = this;
    if (sequence === 0) return;
    const last = await orGone(log.readAt(this.history.position));
    if ((last && sequenceAfter(last)) !== sequence + 1)
      await assertReaches(log, config.id, { sequence, known: `event ${sequence} was applied` }, this.services.clock);
  }

  /**
   * Makes the events durable, then applies them. `onDurable` gets the frame's size. Throws `unavailable` if the outcome is
   * not known or another owner has written; the state is then unchanged.
   */
  async commit(
    { events, liveRecords }: Pick<CommitBuilder, 'events' | 'liveRecords'>,
    deadlineMs: number,
    onDurable: (frameBytes: number) => void,
    onApplied: OnApplied,
  ): Promise<void> {
    const { end } = this.history;
    noteWork('commit', this.config);
    const all = end === EMPTY_LOG ? [genesisOf(this.config), ...events] : events;
    const frame = await buildFrame(all, end, liveRecords, sliceTurns());
    await this.adopt(frame, deadlineMs, onDurable, onApplied);
    // It is stored, and followers have a copy. After a failure the log may still send it.
    reuseLong(frame.bytes);
  }

  /** Commits a frame that is known to continue the log, and whose events are known to be applicable. */
  async adopt(
    frame: Frame,
    deadlineMs: number,
    onDurable: (frameBytes: number) => void,
    onApplied?: OnApplied,
  ): Promise<void> {
    if (this.#append.kind === 'appending') throw new RangeError('a frame is being appended already');
    this.#append = APPENDING;
    const append = noticingDamage(() => this.log.append(frame.bytes, this.history.position, deadlineMs));
    const position = await append.catch((error: unknown) => {
      this.#append = { kind: 'unknown', untilMs: this.services.clock.monotonicMs() + this.services.lateMs };
      throw error;
    });
    // The log takes no other frame at this place.
    this.#append = SETTLED;
    this.#othersUntilMs = undefined;
    this.feed?.({ position, bytes: frame.bytes });
    onDurable(frame.bytes.length);
    await this.#apply(frame, position, onApplied);
  }

  /**
   * Makes the receipt of a past write of a record from its frame and the history of the state tree. Costs a look and some
   * hashes for each later change, in slices. `afterRest` may end it by throwing.
   */
  receiptOf(sequence: number, frame: Frame, afterRest: () => void): Promise<Receipt> {
    const index = sequence - frame.header.firstSequence;
    const receipt = writeReceipt(frame, index, this.state, this.history.configHash);
    return inSlices(receipt, new Slice(this.services.clock), afterRest);
  }

  /** Reads the frame of an applied event from the log, and verifies it. */
  async frameWith(sequence: number): Promise<Frame> {
    const { position } = this.history.frameWith(sequence);
    const bytes = await noticingDamage(() => readStored(this.log, position, this.services.clock));
    return verifiedFrame(bytes, claimedStart(bytes), position);
  }

  /** Resolves when the state is that after a whole frame: then all of it is at `sequence`. */
  async whole(): Promise<void> {
    while (this.#applying !== undefined) await this.#applying;
  }

  /** Reads a committed event from the log. */
  async eventAt(sequence: number): Promise<Event> {
    const { header, events } = await this.frameWith(sequence);
    return events[sequence - header.firstSequence]!;
  }

  /** The sequence of the last committed event at or before an instant; 0 before the first. */
  sequenceAt(timeMs: number): number {
    return Math.max(0, Math.min(this.sequence, this.state.versions.sequenceAt(timeMs)));
  }

  /** Whether the state is the one after exactly `sequence` events. */
  isAt(sequence: number): boolean {
    return this.#applying === undefined && this.sequence === sequence;
  }

  /** Whether the state is that after a whole frame. */
  get isWhole(): boolean {
    return this.#applying === undefined;
  }

  /** The hash of the present state, which must be whole and not empty. */
  stateHash(): Uint8Array {
    const { configHash, end } = this.history;
    const { chainHead, lastTimeMs: timeMs } = end;
    return this.state.hash({ configHash, chainHead, sequence: this.sequence, timeMs });
  }

  async #apply(frame: Frame, position: Position, onApplied?: OnApplied): Promise<void> {
    const { header, events } = frame;
    noteWork(onApplied === undefined ? 'replay' : 'commit', this.config);
    if (header.firstSequence === 0) this.history.begin(configHashIn(frame, this.config));
    const opened = await this.services.contents?.open(events);
    try {
      // Memory that ran out in the middle of a frame would leave half of it applied.
      this.state.vectors.reserve(events.filter(takesRow).length);
      this.#applying = this.#applyEvents(frame, position, onApplied);
      await this.#applying;
    } finally {
      opened?.forget();
    }
    // After a failure it stays set: the state is of no use any more, and everything that awaits it gets the error.
    this.#applying = undefined;
  }

  async #applyEvents(frame: Frame, position: Position, onApplied?: OnApplied): Promise<void> {
    const { events } = frame;
    const [slice, leaves] = [new Slice(this.services.clock), new InsertedLeaves(events)];
    let inTree = 0;
    for (let index = 0; index < events.length; index++) {
      const event = events[index]!;
      this.onStep?.(event.sequence);
      if (this.state.isLarge(event)) await this.#applyLarge(event, slice);
      else this.state.apply(event, leaves.at(index));
      this.#seen = event.sequence;
      this.services.contents?.applied(event);
      if (event.type === 'shredKey') this.onShred?.();
      // In steps: a later read of the root would do all of it at once.
      while (this.state.graph.hashSome()) {
        if (!slice.due) continue;
        await slice.next();
        this.onStep?.(event.sequence);
      }
      onApplied?.(event.sequence, () => atOnce(writeReceipt(frame, index, this.state, this.history.configHash)));
      if (!slice.due) continue;
      inTree = this.#growTree(frame, inTree, index + 1);
      await slice.next();
    }
    this.#growTree(frame, inTree, events.length);
    assertLiveRecords(this.state, frame, position);
    this.history.add(frame, position);
  }

  #applyLarge(event: Event, slice: Slice): Promise<void> {
    const steps = this.state.applyInSteps(event, () => (this.#seen = event.sequence));
    return inSlices(steps, slice, () => this.onStep?.(event.sequence));
  }

  /** Appends many chain heads at once, which costs less than each alone. Returns `to`. */
  #growTree({ chainHeads }: Frame, from: number, to: number): number {
    this.history.tree.append(chainHeads.subarray(from * HASH_BYTES, to * HASH_BYTES));
    return to;
  }
}
