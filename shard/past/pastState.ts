/**
 * A collection as it was after so many events: a state of its own, rebuilt from a snapshot and the log by what applies a
 * commit. It is destroyed when nobody keeps it and nobody uses it.
 */
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import { DOMAIN, EMPTY_HASH, hash } from '../../shared/hash.js';
import { nextChainHead } from '../../shared/log/chain.js';
import { type Event, genesisOf } from '../../shared/log/event.js';
import type { StoredFrame } from '../../shared/log/eventLog.js';
import { encodeEvent } from '../../shared/log/eventWriter.js';
import { type Frame, hashAt, readFrameHeader } from '../../shared/log/frame.js';
import { CollectionState } from '../collection/collectionState.js';
import { noticingDamage } from '../collection/damaged.js';
import { LogHistory } from '../collection/history.js';
import { assertLiveRecords, configHashIn, verifiedFrame } from '../collection/replay.js';
import { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { Slice } from '../pause.js';
import { describedBytes } from './describedBytes.js';
import type { Opening } from './opening.js';
import type { SnapshotState } from './snapshots.js';

/** Of all the maps and lists of a state with nothing in them. */
const EMPTY_STATE_BYTES = 16 << 10;

/** Of an event in the log's tree and among the times. */
const EVENT_BYTES = 80;

/** A state that nobody asks whether it knows a request id. */
export const NO_REQUESTS = 0;

/** `whole`: only frames that end at or before the event; else the frame that goes beyond it is cut there. */
export type UpTo = 'exactly' | 'whole';

export class PastState {
  readonly state: CollectionState;
  /** Ends with the last frame that was applied whole; its tree has the events of one that was cut too. */
  readonly history: LogHistory;
  #describedBytes: number;
  #holders = 0;
  #isKept = false;

  /** To be held before anything else. */
  constructor(
    readonly opening: Opening,
    { state, history, describedBytes }: SnapshotState,
    private readonly clock: Clock,
  ) {
    this.state = state;
    this.history = history;
    this.#describedBytes = describedBytes;
  }

  /** Committed events that are applied. */
  get sequence(): number {
    return Math.max(this.history.tree.size - 1, 0);
  }

  /** Of the last event; null before the first. */
  get timeMs(): number | null {
    return this.sequence === 0 ? null : this.state.lifetimes.timeAt(this.sequence);
  }

  /** Estimated, of all it holds. */
  get sizeBytes(): number {
    return EMPTY_STATE_BYTES + this.state.vectors.bytes + this.#describedBytes;
  }

  get isHeld(): boolean {
    return this.#holders > 0;
  }

  /** What a snapshot is written from: it must stand at a frame end. */
  get made(): SnapshotState {
    return { state: this.state, history: this.history, describedBytes: this.#describedBytes };
  }

  /**
   * As the receipt of event `sequence` has it. Before the first event: over the empty roots, the chain with the genesis
   * alone, sequence 0 and the time of the creation.
   */
  hash(): Uint8Array {
    const { config } = this.opening;
    const { sequence, timeMs, history } = this;
    if (history.tree.size === 0) {
      const configHash = hash(Uint8Array.of(DOMAIN.logLeaf, ...encodeEvent(genesisOf(config))));
      const chainHead = nextChainHead(EMPTY_HASH, configHash);
      return this.state.hash({ configHash, chainHead, sequence, timeMs: config.createdAtMs });
    }
    const chainHead = history.tree.chainHead(sequence);
    return this.state.hash({
      configHash: history.configHash,
      chainHead,
      sequence,
      timeMs: timeMs ?? config.createdAtMs,
    });
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

  /** It is not destroyed before as many calls of `release`. */
  hold(): this {
    this.#holders++;
    return this;
  }

  release(): void {
    this.#holders--;
    this.#destroyIfUnused();
  }

  /** Others may come to hold it, until `drop`. */
  keep(): void {
    this.#isKept = true;
  }

  drop(): void {
    this.#isKept = false;
    this.#destroyIfUnused();
  }

  /** A frame that goes beyond `until` is cut there, and read again by who goes on. */
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

/** What nothing was written to. Takes no vector memory. */
export function emptyState({ config }: Opening, memory: VectorMemory, dedupWindow: number): SnapshotState {
  const state = new CollectionState(config, new VectorBlocks(memory, config.dimension), dedupWindow);
  return { state, history: new LogHistory(), describedBytes: 0 };
}

/** As the frame says; it is verified when it is applied. */
function lastSequenceOf({ bytes }: StoredFrame): number {
  const { firstSequence, events } = readFrameHeader(bytes);
  return firstSequence + events - 1;
}
