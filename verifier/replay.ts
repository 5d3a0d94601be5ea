/**
 * Replays a log from its genesis, frame by frame, in the plainest way, and checks every claim of a frame. It keeps a leaf and a
 * place for each record, node, edge and event.
 */
import { type Actor, readActor } from './actor.js';
import { equal } from './bytes.js';
import { counted } from './counted.js';
import { type LogEvent, type LogGenesis, readEvent } from './events.js';
import {
  type FrameHeader,
  firstTimeIn,
  flawIn,
  framedEvents,
  headAfter,
  isIntact,
  readHeader,
  timeIn,
} from './frame.js';
import { GraphReplay } from './graph.js';
import { ABSENT, chainHead, eventHash, logRoot, stateHash, stateRoot } from './hashing.js';
import { Leaves } from './leaves.js';
import { Impossible, Refused } from './reading.js';
import { type EventPlace, type ReadAgain, RecordTable } from './recordTable.js';

/** The log right after one event, to compare with claims about that event. */
export interface Moment {
  readonly event: LogEvent;
  /** Null for an event of version 1. */
  readonly actor: Actor | null;
  readonly place: EventPlace;
  readonly eventHash: Uint8Array;
  readonly headBefore: Uint8Array;
  readonly stateRootBefore: Uint8Array;
  readonly after: LogState;
}

export interface LogState {
  /** The sequence of the last event, which is the number of events without the genesis. */
  readonly sequence: bigint;
  readonly timeMs: bigint;
  readonly chainHead: Uint8Array;
  readonly logRoot: Uint8Array;
  readonly configHash: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly graphRoot: Uint8Array;
  readonly stateHash: Uint8Array;
}

/** Functions by the sequence of the event after which they are called. */
export type Watches = ReadonlyMap<bigint, readonly ((moment: Moment) => void)[]>;

/** The part of a frame that does not verify, and the events that may be affected. `offset`: in the frame. */
export interface FrameFlaw {
  readonly firstSequence: bigint;
  readonly lastSequence: bigint;
  readonly offset: number;
  readonly timeMs: bigint | undefined;
  readonly what: string;
}

export class FrameRefused extends Error {
  constructor(readonly flaw: FrameFlaw) {
    super(flaw.what);
  }
}

const LOG_NODE = 0x01;

export class Replay {
  readonly records: RecordTable;
  readonly graph = new GraphReplay();
  readonly #log = new Leaves(LOG_NODE);
  #genesis: LogGenesis | undefined;
  #configHash: Uint8Array = ABSENT;
  #chainHead: Uint8Array = ABSENT;
  #timeMs = 0n;
  #logBytes = 0n;
  #frames = 0;
  /** The number of deletions in the current frame right before the next event. */
  #deletions = 0;

  constructor(
    readAgain: ReadAgain,
    private readonly watches: Watches,
    private readonly onEvent?: (event: LogEvent) => void,
  ) {
    this.records = new RecordTable(readAgain);
  }

  get genesis(): LogGenesis | undefined {
    return this.#genesis;
  }

  get frames(): number {
    return this.#frames;
  }

  get logBytes(): bigint {
    return this.#logBytes;
  }

  /** The next sequence, which is the number of events, including the genesis. */
  get size(): bigint {
    return BigInt(this.#log.size);
  }

  /** Applies a frame. Throws FrameRefused; the log is then at the last event before the refused one. */
  async frame(frame: Uint8Array, position: number): Promise<void> {
    if (!isIntact(frame)) this.#refuseDamaged(frame);
    const header = this.#header(frame);
    let events = 0;
    this.#deletions = 0;
    for (const { offset, bytes, actor } of this.#events(frame)) {
      events++;
      await this.#event(bytes, actor, { position, offset, length: bytes.length });
    }
    this.#checkEnd(frame, header, events);
    this.#logBytes += BigInt(frame.length);
    this.#frames++;
  }

  /** Costs a hash for each 1,024 leaves, and 1,024 hashes for each block that has changed since the last call. */
  state(): LogState {
    const facts = {
      configHash: this.#configHash,
      stateRoot: this.#stateRoot(),
      graphRoot: this.graph.root(),
      chainHead: this.#chainHead,
      sequence: this.size > 0n ? this.size - 1n : 0n,
      timeMs: this.#timeMs,
    };
    return { ...facts, logRoot: logRoot(this.size, this.#log.hash()), stateHash: stateHash(facts) };
  }

  /** Reports a frame whose checksum does not match; none of its events is applied. */
  #refuseDamaged(frame: Uint8Array): never {
    const damaged = 'the frame is damaged: its checksum does not match';
    const around = (what: string, offset = 0, count = 1n): never => {
      const timeMs = firstTimeIn(frame);
      const dated = timeMs === undefined ? {} : { timeMs };
      return this.#refuse({ firstSequence: this.size, lastSequence: this.size + count - 1n, offset, what, ...dated });
    };
    let header: FrameHeader;
    try {
      header = this.#header(frame);
    } catch (error) {
      if (!(error instanceof FrameRefused)) throw error;
      return around(`${damaged}; ${error.message}`, error.flaw.offset);
    }
    const flaw = flawIn(frame, this.size);
    if (flaw === undefined) return around(damaged, 0, BigInt(header.count));
    const { sequence, offset, timeMs, what } = flaw;
    return this.#refuse({
      firstSequence: sequence,
      lastSequence: sequence,
      offset,
      what: `${damaged}; ${what}`,
      ...(timeMs === undefined ? {} : { timeMs }),
    });
  }

  #header(frame: Uint8Array): FrameHeader {
    const expect = (holds: boolean, what: string, offset: number): void => {
      if (!holds) this.#refuseNext(what, offset, firstTimeIn(frame));
    };
    try {
      const header = readHeader(frame);
      const { firstSequence, logBytesBefore, headBefore } = header;
      expect(firstSequence === this.size, `the frame begins with event ${firstSequence} instead of ${this.size}`, 8);
      expect(
        logBytesBefore === this.#logBytes,
        `the frame states ${logBytesBefore} bytes of log before it, and there are ${this.#logBytes}`,
        16,
      );
      expect(equal(headBefore, this.#chainHead), 'the frame continues another chain', 32);
      return header;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return this.#refuseNext(error.message, error.at, firstTimeIn(frame));
    }
  }

  *#events(frame: Uint8Array): ReturnType<typeof framedEvents> {
    try {
      yield* framedEvents(frame);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#refuseNext(error.message, error.at, timeIn(frame.subarray(error.at)));
    }
  }

  async #event(bytes: Uint8Array, actorBytes: Uint8Array | null, place: EventPlace): Promise<void> {
    const sequence = this.size;
    const named = `event ${sequence}`;
    let event: LogEvent | undefined;
    try {
      event = readEvent(bytes, named);
      const actor = actorBytes === null ? null : readActor(actorBytes);
      if (event.sequence !== sequence) throw new Impossible(`has sequence ${event.sequence} in its bytes`);
      if (event.timeMs < this.#timeMs) throw new Impossible('goes back in time');
      const watches = this.watches.get(sequence);
      const stateRootBefore = watches === undefined ? ABSENT : this.#stateRoot();
      await this.#apply(event, actor, place);
      this.#countDeletions(event);
      const headBefore = this.#chainHead;
      const hash = eventHash(bytes);
      if (event.type === 'genesis') this.#configHash = hash;
      this.#chainHead = chainHead(headBefore, hash, actorBytes);
      this.#log.push(this.#chainHead);
      this.#timeMs = event.timeMs;
      this.onEvent?.(event);
      for (const watch of watches ?? [])
        watch({ event, actor, place, eventHash: hash, headBefore, stateRootBefore, after: this.state() });
    } catch (error) {
      if (error instanceof Refused) this.#refuseNext(error.message, place.offset, timeIn(bytes));
      if (error instanceof Impossible) this.#refuseNext(`${named} ${error.message}`, place.offset, event?.timeMs);
      throw error;
    }
  }

  async #apply(event: LogEvent, actor: Actor | null, place: EventPlace): Promise<void> {
    switch (event.type) {
      case 'genesis':
        this.#genesis = { ...event, actor };
        return;
      case 'insert':
        this.#assertDimension(event.vector);
        this.records.insert(event, place);
        return;
      case 'replace':
        this.#assertDimension(event.vector);
        this.records.replace(event, place);
        return;
      case 'insert encrypted':
        this.records.insertEncrypted(event, place);
        return;
      case 'insert under key':
        this.records.insertUnderKey(event, place);
        return;
      case 'replace under key':
        this.records.replaceUnderKey(event, place);
        return;
      case 'update under key':
        await this.records.updateUnderKey(event, place);
        return;
      case 'soft delete':
        await this.records.softDelete(event.recordId);
        return;
      case 'update metadata':
        await this.records.updateMetadata(event.recordId, event.metadata, place);
        return;
      case 'delete':
        this.records.delete(event.recordId);
        this.graph.recordDeleted(event.recordId);
        return;
      case 'delete many':
      case 'audit reads':
        return;
      case 'shred key':
        this.records.shred(event.keyId);
        return;
      case 'add node':
        if (event.recordId !== 0n) this.records.assertLive(event.recordId);
        this.graph.apply(event);
        return;
      default:
        this.graph.apply(event);
        return;
    }
  }

  /** Checks that the end of a request's deletions has that many deletions right before it, in its frame. */
  #countDeletions(event: LogEvent): void {
    if (event.type === 'delete many' && event.deleted > this.#deletions)
      throw new Impossible(`ends ${event.deleted} deletions where ${this.#deletions} are before it`);
    this.#deletions = event.type === 'delete' ? this.#deletions + 1 : 0;
  }

  #assertDimension(vector: Uint8Array): void {
    if (vector.length !== 4 * this.#genesis!.dimension) throw new Impossible('has another dimension');
  }

  #checkEnd(frame: Uint8Array, { count, firstSequence, liveRecords }: FrameHeader, events: number): void {
    const expect = (holds: boolean, offset: number, what: string): void => {
      if (!holds) this.#refuseFrame(frame, firstSequence, offset, what);
    };
    expect(count === events, 4, `the frame counts ${counted(count, 'event')} and holds ${events}`);
    expect(
      equal(headAfter(frame), this.#chainHead),
      frame.length - 48,
      'the frame ends with another chain head than its events lead to',
    );
    const live = this.records.live;
    expect(
      liveRecords === BigInt(live),
      24,
      `the frame counts ${counted(liveRecords, 'live record')} where there are ${live}`,
    );
  }

  #stateRoot(): Uint8Array {
    const { leaves } = this.records;
    return stateRoot(BigInt(leaves.size), leaves.hash());
  }

  #refuseNext(what: string, offset: number, timeMs?: bigint): never {
    const dated = timeMs === undefined ? {} : { timeMs };
    return this.#refuse({ firstSequence: this.size, lastSequence: this.size, offset, what, ...dated });
  }

  /** Refuses a frame of which any event may be wrong. */
  #refuseFrame(frame: Uint8Array, firstSequence: bigint, offset: number, what: string): never {
    const timeMs = firstTimeIn(frame);
    const dated = timeMs === undefined ? {} : { timeMs };
    return this.#refuse({ firstSequence, lastSequence: this.size - 1n, offset, what, ...dated });
  }

  #refuse(flaw: Omit<FrameFlaw, 'timeMs'> & { timeMs?: bigint }): never {
    throw new FrameRefused({ timeMs: undefined, ...flaw });
  }
}
