/**
 * Judges the logs of the collections, as their streams receive them. Each frame continues its log. The log has the frames that
 * an owner sends to its followers, and the event that a watermark names. An owner that has handed a collection over appends
 * nothing. An owner finds out that its frame is stored, also without an acknowledgement.
 */
import { unpackFeed } from '../../../shard/follow/feedMessage.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { toHex } from '../../../shared/hashing/hash.js';
import { readBarrier } from '../../../shared/log/barrier.js';
import { readFrameHeader } from '../../../shared/log/frame.js';
import type { Findings } from './findings.js';
import type { OwnersJudge } from './ownersJudge.js';

const LOG = /^vouch\.log\.\d+\.(\d+)$/;
const FEED = /^vouch\.feed\.(\d+)$/;
const WATERMARK = new RegExp(`^\\$KV\\.${BUCKETS.watermarks}\\.(\\d+)$`);

/** Time after which a process must know that its frame is stored: longer than a stale leader of NATS answers. */
const LEARNED_MS = 15_000;

/** A state that an owner had reached at a time. */
interface Shown {
  readonly atMs: number;
  readonly sequence: number;
}

export interface LogEnd {
  readonly collectionId: number;
  /** Sequence of the last event; 0 for an empty log. */
  readonly sequence: number;
  /** Chain head after the last event, in hex. */
  readonly chainHead: string;
  /** Sequence in the watermark; 0 without one. */
  readonly noted: number;
}

/** A log at one moment. */
export interface LogBefore {
  readonly collectionId: number;
  readonly frames: readonly Uint8Array[];
  /** Chain head after each frame, in hex, by the frame's last sequence. */
  readonly heads: ReadonlyMap<number, string>;
  /** Returns the sequence of the last event that had been stored for at least `ageMs`; 0 without one. */
  readonly sequenceFor: (ageMs: number) => number;
}

interface SeenFrame {
  readonly bytes: Buffer;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly storedMs: number;
  /** The process that has appended it; undefined if that is not known. */
  readonly by: string | undefined;
  /** Chain heads, in hex, of other frames that this process has appended in its place long after it was stored. */
  readonly late: Set<string>;
}

interface SeenLog {
  readonly frames: SeenFrame[];
  /** The last append of each process, stored or not. */
  readonly appended: Map<string, Buffer>;
  /** Chain head after each frame, in hex, by the frame's last sequence. */
  readonly heads: Map<number, string>;
  nextSequence: number;
  /** Sequence in the watermark; 0 without one. */
  noted: number;
  /** States that the owner had reached, oldest first. */
  readonly shown: Shown[];
}

export class LogsJudge {
  readonly #logs = new Map<number, SeenLog>();
  /** Whether servers have lost stored messages. A log may then end before its watermark. */
  isLossKnown = false;

  constructor(
    private readonly findings: Findings,
    private readonly owners: OwnersJudge,
  ) {}

  /** Receives each published message. `hasExpectation`: whether it names its predecessor. */
  published(subject: string, body: Buffer, by: string, hasExpectation: boolean): void {
    // Skip most messages at once.
    if (!subject.startsWith('vouch.')) return;
    const [, appended] = LOG.exec(subject) ?? [];
    if (appended !== undefined && readBarrier(body) === undefined)
      this.#appends(Number(appended), body, by, hasExpectation);
    const [, fed] = FEED.exec(subject) ?? [];
    if (fed !== undefined) this.#feeds(Number(fed), body, by);
  }

  /** Receives each stored message. */
  stored(subject: string, body: Buffer): void {
    const [, id] = LOG.exec(subject) ?? [];
    if (id !== undefined && readBarrier(body) === undefined) this.#grows(Number(id), body);
    const [, noted] = WATERMARK.exec(subject) ?? [];
    if (noted !== undefined && body.length > 0) this.#noted(Number(noted), body);
  }

  /** Yields the end of each log. */
  *ends(): Generator<LogEnd> {
    for (const [collectionId, { heads, noted }] of this.#logs) {
      const [sequence, chainHead] = [...heads].at(-1) ?? [0, ''];
      yield { collectionId, sequence, chainHead, noted };
    }
  }

  /** Returns each log as it is now, with all its frames. */
  before(): LogBefore[] {
    const { nowMs } = this.findings.world;
    return [...this.#logs].map(([collectionId, { frames, heads }]) => ({
      collectionId,
      frames: frames.map(({ bytes }) => bytes),
      heads,
      sequenceFor: (ageMs) => frames.findLast(({ storedMs }) => storedMs <= nowMs - ageMs)?.lastSequence ?? 0,
    }));
  }

  /** Whether a frame of the log ends with that event and that chain head. */
  holds(collectionId: number, sequence: number, chainHead: string): boolean {
    return this.#of(collectionId).heads.get(sequence) === chainHead;
  }

  /** Forgets all logs. */
  forget(): void {
    this.#logs.clear();
  }

  /** Returns the sequence that the owner had reached at a time; 0 if that is not known. */
  shownBy(collectionId: number, atMs: number): number {
    return this.#of(collectionId).shown.findLast((shown) => shown.atMs <= atMs)?.sequence ?? 0;
  }

  #appends(id: number, body: Buffer, by: string, hasExpectation: boolean): void {
    const { firstSequence, chainHeadAfter } = readFrameHeader(body);
    this.owners.begun(id, by);
    this.#learns(this.#of(id), { firstSequence, head: toHex(chainHeadAfter) }, by);
    this.#of(id).appended.set(by, body);
    if (!hasExpectation)
      this.findings.add(`${by} appends event ${firstSequence} of collection ${id}, without an expected predecessor`);
    if (this.owners.hasHandedOver(id, by))
      this.findings.add(`${by} appends event ${firstSequence} of collection ${id}, which it has handed over`);
  }

  /** Judges a repeated append: a process may append once in the place of its own stored frame, and then knows of that frame. */
  #learns(log: SeenLog, { firstSequence, head }: { firstSequence: number; head: string }, by: string): void {
    if (firstSequence >= log.nextSequence) return;
    const own = log.frames.find((frame) => frame.by === by && frame.firstSequence === firstSequence);
    if (own === undefined || this.findings.world.nowMs - own.storedMs < LEARNED_MS) return;
    if (head === toHex(readFrameHeader(own.bytes).chainHeadAfter)) return;
    own.late.add(head);
    if (own.late.size > 1)
      this.findings.add(
        `${by} appends event ${firstSequence} again and again, although its log has one of ${by} there`,
      );
  }

  #grows(id: number, body: Buffer): void {
    const log = this.#of(id);
    const { firstSequence, lastSequence, chainHeadAfter } = readFrameHeader(body);
    if (firstSequence !== log.nextSequence) {
      this.findings.add(`event ${firstSequence} of collection ${id} is stored where ${log.nextSequence} comes next`);
      return;
    }
    log.nextSequence = lastSequence + 1;
    const [by] = [...log.appended].find(([, bytes]) => bytes.equals(body)) ?? [];
    const storedMs = this.findings.world.nowMs;
    log.frames.push({ bytes: body, firstSequence, lastSequence, storedMs, by, late: new Set() });
    log.heads.set(lastSequence, toHex(chainHeadAfter));
  }

  /** Judges a frame for followers: it must be durable. By then the owner has applied the frame before it. */
  #feeds(id: number, body: Buffer, by: string): void {
    const fed = unpackFeed(body);
    if (fed === undefined) return;
    const { firstSequence, lastSequence, chainHeadAfter } = readFrameHeader(fed.bytes);
    const log = this.#of(id);
    if (log.heads.get(lastSequence) !== toHex(chainHeadAfter))
      this.findings.add(`${by} feeds event ${lastSequence} of collection ${id}, which its log does not hold`);
    const before = log.shown.at(-1)?.sequence ?? 0;
    if (firstSequence - 1 > before) log.shown.push({ atMs: this.findings.world.nowMs, sequence: firstSequence - 1 });
  }

  #noted(id: number, body: Buffer): void {
    const { sequence, chain_head } = JSON.parse(body.toString()) as { sequence: number; chain_head: string };
    const log = this.#of(id);
    log.noted = sequence;
    if (!this.isLossKnown && log.heads.get(sequence) !== chain_head)
      this.findings.add(`a watermark of collection ${id} says ${sequence}, which its log does not hold`);
  }

  #of(id: number): SeenLog {
    let log = this.#logs.get(id);
    if (log === undefined) {
      log = { frames: [], appended: new Map(), heads: new Map(), nextSequence: 0, noted: 0, shown: [] };
      this.#logs.set(id, log);
    }
    return log;
  }
}
