/**
 * A collection as it was after so many events: a state of its own, rebuilt from the log by what applies a commit. It is
 * destroyed when nobody keeps it and nobody uses it.
 */
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import { DOMAIN, EMPTY_HASH, hash } from '../../shared/hash.js';
import { EMPTY_LOG, type LogEnd, nextChainHead } from '../../shared/log/chain.js';
import { type Event, genesisOf } from '../../shared/log/event.js';
import { LOG_START, type Position, type StoredFrame } from '../../shared/log/eventLog.js';
import { encodeEvent } from '../../shared/log/eventWriter.js';
import { type Frame, hashAt } from '../../shared/log/frame.js';
import { CollectionState } from '../collection/collectionState.js';
import { noticingDamage } from '../collection/damaged.js';
import { assertLiveRecords, configHashIn, verifiedFrame } from '../collection/replay.js';
import { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { Slice } from '../pause.js';
import { describedBytes } from './describedBytes.js';
import type { Opening } from './opening.js';

/** Of all the maps and lists of a state with nothing in them. */
const EMPTY_STATE_BYTES = 16 << 10;

/** Nobody asks a past state whether it knows a request id. */
const NO_REQUESTS = 0;

export class PastState {
  readonly state: CollectionState;
  #sequence = 0;
  /** Of the last event; null before the first. */
  #timeMs: number | null = null;
  #configHash: Uint8Array;
  #chainHead: Uint8Array;
  /** After the last frame that was applied whole. */
  #end: LogEnd = EMPTY_LOG;
  #position: Position = LOG_START;
  #describedBytes = 0;
  #holders = 0;
  #isKept = false;

  /** The empty state, whether or not anything was ever written to the log. To be held before anything else. */
  constructor(
    readonly opening: Opening,
    memory: VectorMemory,
    private readonly clock: Clock,
  ) {
    const { config } = opening;
    this.state = new CollectionState(config, new VectorBlocks(memory, config.dimension), NO_REQUESTS);
    this.#configHash = hash(Uint8Array.of(DOMAIN.logLeaf, ...encodeEvent(genesisOf(config))));
    this.#chainHead = nextChainHead(EMPTY_HASH, this.#configHash);
  }

  get sequence(): number {
    return this.#sequence;
  }

  get timeMs(): number | null {
    return this.#timeMs;
  }

  /** Estimated, of all it holds. */
  get sizeBytes(): number {
    return EMPTY_STATE_BYTES + this.state.vectors.bytes + this.#describedBytes;
  }

  get isHeld(): boolean {
    return this.#holders > 0;
  }

  /**
   * As the receipt of event `sequence` has it. Before the first event: over the empty roots, the chain with the genesis
   * alone, sequence 0 and the time of the creation.
   */
  hash(): Uint8Array {
    const { config } = this.opening;
    return this.state.hash({
      configHash: this.#configHash,
      chainHead: this.#chainHead,
      sequence: this.#sequence,
      timeMs: this.#timeMs ?? config.createdAtMs,
    });
  }

  /**
   * Reads on in the log, and applies every event up to `sequence`, which has been committed. Holds the event loop for a
   * slice at a time; `assertWanted` is called after each, and ends it by throwing. Throws Damaged, `capacity_exceeded`,
   * `unavailable`; then it can only be dropped.
   */
  advance(sequence: number, assertWanted: () => void): Promise<void> {
    return noticingDamage(async () => {
      if (sequence === this.#sequence) return;
      const slice = new Slice(this.clock);
      const rest = async (): Promise<void> => {
        await slice.next();
        assertWanted();
      };
      for await (const stored of this.opening.log.read(this.#position)) {
        await this.#apply(stored, sequence, () => (slice.due ? rest() : undefined));
        if (this.#sequence === sequence) return;
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
    const frame = await verifiedFrame(bytes, this.#end, position);
    if (frame.header.firstSequence === 0) this.#configHash = configHashIn(frame, this.opening.config);
    for (const [index, event] of frame.events.entries()) {
      if (event.sequence > until) return;
      if (event.sequence > this.#sequence) this.#applyEvent(event, frame, index);
      const resting = rest();
      if (resting !== undefined) await resting;
    }
    assertLiveRecords(this.state, frame, position);
    this.#end = frame.end;
    this.#position = position;
  }

  #applyEvent(event: Event, frame: Frame, index: number): void {
    this.state.apply(event);
    this.#describedBytes += describedBytes(event);
    this.#sequence = event.sequence;
    this.#timeMs = event.timeMs;
    this.#chainHead = hashAt(frame.chainHeads, index).slice();
  }

  #destroyIfUnused(): void {
    if (!this.#isKept && !this.isHeld) this.state.vectors.destroy();
  }
}
