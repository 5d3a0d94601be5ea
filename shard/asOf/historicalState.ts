/**
 * The state of a collection after a number of events, rebuilt from a snapshot and the log by the code that applies a
 * commit. It is destroyed when it is neither kept nor held.
 */
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors/errors.js';
import { noticingDamage } from '../../shared/log/damaged.js';
import type { Event } from '../../shared/log/event.js';
import type { StoredFrame } from '../../shared/log/eventLog.js';
import { type Frame, hashAt, readFrameHeader } from '../../shared/log/frame.js';
import { Slice } from '../../shared/scheduling/slice.js';
import { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import type { Opening } from '../snapshot/opening.js';
import type { SnapshotState } from '../snapshot/savedSnapshots.js';
import { CollectionState } from '../state/collectionState.js';
import { LogHistory } from '../state/logHistory.js';
import { assertLiveRecords, configHashIn, emptyHashes, verifiedFrame } from '../state/replay.js';

/** The bytes of the empty maps and lists of a state. */
const EMPTY_STATE_BYTES = 16 << 10;

/** The bytes of an event in the log's tree and among the times. */
const EVENT_BYTES = 80;

/**
 * The bytes that a state grows by with an event, without vector, metadata and text: records as measured over replays of
 * 100,000, rounded up; the others by what lists and trees hold of them. Deletions take nothing off, as most of it stays.
 */
const GROWTH_BYTES: Readonly<Record<Event['type'], number>> = {
  genesis: 0,
  insert: 112,
  replace: 160,
  // The ciphertext stays in the log.
  insertEncrypted: 480,
  shredKey: 112,
  updateMetadata: 64,
  softDelete: 64,
  delete: 64,
  deleteMany: 160,
  deleteNode: 64,
  deleteEdge: 64,
  addNode: 192,
  addEdge: 160,
};
/** The bytes of a metadata or a text, and of each of its bytes, which is kept as it is and in an index. */
const DESCRIPTION_BYTES = 200;
const BYTES_PER_BYTE = 3;

/** The length of the list of request ids of a state that is never asked for one. */
export const NO_REQUESTS = 0;

/** `whole`: only frames that end at or before the event; else the frame that goes beyond it is cut there. */
type UpTo = 'exactly' | 'whole';

export class HistoricalState {
  readonly state: CollectionState;
  /** Ends with the last frame that was applied whole; its tree also has the applied events of a frame that was cut. */
  readonly history: LogHistory;
  #describedBytes: number;
  #holders = 0;
  #isKept = false;

  /** Must be held before anything else. */
  constructor(
    readonly opening: Opening,
    { state, history, describedBytes }: SnapshotState,
    private readonly clock: Clock,
  ) {
    this.state = state;
    this.history = history;
    this.#describedBytes = describedBytes;
  }

  /** The number of events that are applied. */
  get sequence(): number {
    return Math.max(this.history.tree.size - 1, 0);
  }

  /** The time of the last event; null before the first. */
  get timeMs(): number | null {
    return this.sequence === 0 ? null : this.state.versions.timeAt(this.sequence);
  }

  /** The estimated bytes of all that it holds. */
  get sizeBytes(): number {
    return EMPTY_STATE_BYTES + this.state.vectors.bytes + this.#describedBytes;
  }

  get isHeld(): boolean {
    return this.#holders > 0;
  }

  /** The state as a snapshot is written from it. It must stand at a frame end. */
  get made(): SnapshotState {
    return { state: this.state, history: this.history, describedBytes: this.#describedBytes };
  }

  /**
   * The state hash, as in the receipt of event `sequence`. Before the first event: over the empty roots, the chain with the
   * genesis alone, sequence 0 and the time of the creation.
   */
  hash(): Uint8Array {
    const { config } = this.opening;
    const { sequence, history } = this;
    if (history.tree.size === 0) return emptyHashes(config, this.state).stateHash;
    const { configHash } = history;
    const timeMs = this.timeMs ?? config.createdAtMs;
    return this.state.hash({ configHash, chainHead: history.tree.chainHead(sequence), sequence, timeMs });
  }

  /**
   * Reads on in the log, and applies the events up to `sequence`, which has been committed. Holds the thread for a
   * slice at a time; `assertWanted` is called after each, and ends it by throwing. Throws Damaged, `capacity_exceeded`,
   * `unavailable`; then it can only be dropped.
   */
  advance(sequence: number, upTo: UpTo, assertWanted: () => void): Promise<void> {
    return noticingDamage(async () => {
      if (sequence <= this.sequence) return;
      const slice = new Slice(this.clock);
      const rest = async (): Promise<void> => {
        await slice.next();
        assertWanted();
      };
      for await (const stored of this.opening.log.read(this.history.position, sequence)) {
        if (upTo === 'whole' && lastSequenceOf(stored) > sequence) return;
        await this.#apply(stored, sequence, () => (slice.due ? rest() : undefined));
        if (this.sequence === sequence) return;
      }
      throw unavailable(`the log could not be read up to event ${sequence}; retry shortly`);
    });
  }

  /** Keeps it from being destroyed before as many calls of `release`. */
  hold(): this {
    this.#holders++;
    return this;
  }

  release(): void {
    this.#holders--;
    this.#destroyIfUnused();
  }

  /** Keeps it for later holders, until `drop`. */
  keep(): void {
    this.#isKept = true;
  }

  drop(): void {
    this.#isKept = false;
    this.#destroyIfUnused();
  }

  /** Cuts a frame that goes beyond `until` there; it is read again when the state advances further. */
  async #apply({ bytes, position }: StoredFrame, until: number, rest: () => Promise<void> | undefined): Promise<void> {
    const frame = await verifiedFrame(bytes, this.history.end, position);
    if (frame.header.firstSequence === 0) this.history.begin(configHashIn(frame, this.opening.config));
    for (const [index, event] of frame.events.entries()) {
      if (event.sequence > until) return;
      if (event.sequence >= this.history.tree.size) this.#applyEvent(event, frame, index);
      const resting = rest();
      if (resting !== undefined) await resting;
    }
    assertLiveRecords(this.state, frame, position);
    this.history.add(frame, position);
  }

  #applyEvent(event: Event, frame: Frame, index: number): void {
    this.state.apply(event);
    this.history.tree.append(hashAt(frame.chainHeads, index));
    this.#describedBytes += EVENT_BYTES + describedBytes(event);
  }

  #destroyIfUnused(): void {
    if (!this.#isKept && !this.isHeld) this.state.vectors.destroy();
  }
}

/** The state of a collection without records. Takes no vector memory. */
export function emptyState({ config }: Opening, memory: VectorMemory, dedupWindow: number): SnapshotState {
  const state = new CollectionState(config, new VectorBlocks(memory, config.dimension), dedupWindow);
  return { state, history: new LogHistory(), describedBytes: 0 };
}

/** About the bytes that a state grows by when it takes in the event, without its vector. */
function describedBytes(event: Event): number {
  const growth = GROWTH_BYTES[event.type];
  if (event.type === 'insert' || event.type === 'replace')
    return (
      growth +
      descriptionBytes(event.metadata) +
      descriptionBytes(event.text) +
      (event.externalId === null ? 0 : DESCRIPTION_BYTES + event.externalId.length)
    );
  return event.type === 'updateMetadata' ? growth + descriptionBytes(event.metadata) : growth;
}

const descriptionBytes = (description: Uint8Array | null): number =>
  description === null ? 0 : DESCRIPTION_BYTES + BYTES_PER_BYTE * description.length;

/** As the frame's header says; the frame is verified when it is applied. */
function lastSequenceOf({ bytes }: StoredFrame): number {
  const { firstSequence, events } = readFrameHeader(bytes);
  return firstSequence + events - 1;
}
