/**
 * The state of a collection after a number of events. It is rebuilt from a snapshot and the log, by the code that
 * applies commits. It is destroyed once it is neither kept nor in use.
 */
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors/errors.js';
import { noticingDamage } from '../../shared/log/damaged.js';
import { type Event, isUnderKey } from '../../shared/log/event.js';
import type { StoredFrame } from '../../shared/log/eventLog.js';
import { type Frame, hashAt, readFrameHeader } from '../../shared/log/frame.js';
import { Slice } from '../../shared/scheduling/slice.js';
import { InsertedLeaves } from '../audit/insertedLeaves.js';
import { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import type { Opening } from '../snapshot/opening.js';
import type { SnapshotState } from '../snapshot/savedSnapshots.js';
import { CollectionState } from '../state/collectionState.js';
import { LogHistory } from '../state/logHistory.js';
import { assertLiveRecords, configHashIn, emptyHashes, verifiedFrame } from '../state/replay.js';

/** Bytes of the empty maps and lists of a state. */
const EMPTY_STATE_BYTES = 16 << 10;

/** Bytes of an event in the log's tree and among the times. */
const EVENT_BYTES = 80;

/**
 * Bytes that an event adds to a state, without vector, metadata and text. Inserts were measured over replays of 100,000
 * and rounded up. The others are sums over lists and trees. Deletions subtract nothing, since most of it stays.
 */
const GROWTH_BYTES: Readonly<Record<Event['type'], number>> = {
  genesis: 0,
  insert: 112,
  replace: 160,
  // The ciphertext stays in the log.
  insertEncrypted: 480,
  insertUnderKey: 720,
  replaceUnderKey: 760,
  updateUnderKey: 480,
  shredKey: 112,
  updateMetadata: 64,
  softDelete: 64,
  delete: 64,
  deleteMany: 160,
  deleteNode: 64,
  deleteEdge: 64,
  addNode: 192,
  addEdge: 160,
  auditReads: 0,
};
/** Bytes of an expiry in the heap of expiries. */
const EXPIRY_BYTES = 16;
/** Fixed bytes of a metadata or a text, and bytes per byte: it is stored once as it is, and in an index. */
const DESCRIPTION_BYTES = 200;
const BYTES_PER_BYTE = 3;

/** Length of the list of request ids of a state that receives no requests. */
export const NO_REQUESTS = 0;

/** `whole`: only frames that end at or before the event; `exactly`: the last frame is cut at the event. */
type UpTo = 'exactly' | 'whole';

export class HistoricalState {
  readonly state: CollectionState;
  /** Ends with the last whole frame. Its tree also has the applied events of a frame that was cut. */
  readonly history: LogHistory;
  #describedBytes: number;
  #users = 0;
  #isKept = false;

  /** Makes a state without users. Call `retain` first. */
  constructor(
    readonly opening: Opening,
    { state, history, describedBytes }: SnapshotState,
    private readonly clock: Clock,
  ) {
    this.state = state;
    this.history = history;
    this.#describedBytes = describedBytes;
  }

  /** Number of applied events. */
  get sequence(): number {
    return Math.max(this.history.tree.size - 1, 0);
  }

  /** Time of the last event; null before the first. */
  get timeMs(): number | null {
    return this.sequence === 0 ? null : this.state.versions.timeAt(this.sequence);
  }

  /** Estimated bytes of the whole state. */
  get sizeBytes(): number {
    return EMPTY_STATE_BYTES + this.state.vectors.bytes + this.#describedBytes;
  }

  get isInUse(): boolean {
    return this.#users > 0;
  }

  /** The state for a snapshot. It must be at the end of a frame. */
  get made(): SnapshotState {
    return { state: this.state, history: this.history, describedBytes: this.#describedBytes };
  }

  /**
   * Returns the state hash, equal to that in the receipt of event `sequence`. Before the first event it covers the
   * empty roots, the chain with only the genesis, sequence 0 and the time of the creation.
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
   * Continues to read the log, and applies the events up to `sequence`, which must be committed. Blocks the thread for a slice at
   * a time, or for one event: the shred of a key with many records. Calls `assertWanted` after each slice, which ends it by
   * throwing. Throws Damaged, `capacity_exceeded` and `unavailable`; then the state can only be dropped.
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

  /** Adds a user. The state is not destroyed before an equal number of calls of `release`. */
  retain(): this {
    this.#users++;
    return this;
  }

  release(): void {
    this.#users--;
    this.#destroyIfUnused();
  }

  /** Keeps the state for later users, until `drop`. */
  keep(): void {
    this.#isKept = true;
  }

  drop(): void {
    this.#isKept = false;
    this.#destroyIfUnused();
  }

  /** Applies a frame up to event `until`. A cut frame is read again when the state advances further. */
  async #apply({ bytes, position }: StoredFrame, until: number, rest: () => Promise<void> | undefined): Promise<void> {
    const frame = await verifiedFrame(bytes, this.history.end, position);
    if (frame.header.firstSequence === 0) this.history.begin(configHashIn(frame, this.opening.config));
    const opened = await this.opening.contents?.open(frame.events);
    try {
      const leaves = new InsertedLeaves(frame.events);
      for (const [index, event] of frame.events.entries()) {
        if (event.sequence > until) return;
        if (event.sequence >= this.history.tree.size) this.#applyEvent(frame, index, leaves);
        const resting = rest();
        if (resting !== undefined) await resting;
      }
    } finally {
      opened?.forget();
    }
    assertLiveRecords(this.state, frame, position);
    this.history.add(frame, position);
  }

  #applyEvent(frame: Frame, index: number, leaves: InsertedLeaves): void {
    const event = frame.events[index]!;
    this.state.apply(event, leaves.at(index));
    this.opening.contents?.applied(event);
    this.history.tree.append(hashAt(frame.chainHeads, index));
    this.#describedBytes += EVENT_BYTES + describedBytes(event);
  }

  #destroyIfUnused(): void {
    if (!this.#isKept && !this.isInUse) this.state.vectors.destroy();
  }
}

/** Makes the state of a collection without records. Takes no vector memory. */
export function emptyState({ config }: Opening, memory: VectorMemory, dedupWindow: number): SnapshotState {
  const state = new CollectionState(config, new VectorBlocks(memory, config.dimension), dedupWindow);
  return { state, history: new LogHistory(), describedBytes: 0 };
}

/** Returns the approximate bytes that an event adds to a state, without its vector. */
function describedBytes(event: Event): number {
  const growth = GROWTH_BYTES[event.type] + ('expiresAtMs' in event ? EXPIRY_BYTES : 0);
  if (isUnderKey(event)) {
    const { metadata = null, text = null } = event.content ?? {};
    return growth + descriptionBytes(metadata) + descriptionBytes(text);
  }
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

/** Reads the frame's header. The frame is verified when it is applied. */
function lastSequenceOf({ bytes }: StoredFrame): number {
  const { firstSequence, events } = readFrameHeader(bytes);
  return firstSequence + events - 1;
}
