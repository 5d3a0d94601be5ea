/**
 * Judges the logs of the collections, as their streams receive them. Each frame continues its log. What an owner sends
 * to its followers, and what a watermark says, is in the log. An owner that has handed a collection over appends
 * nothing. An owner learns that its frame is stored, also without an acknowledgement.
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

/** Longer than a leader that is cut off answers from its own messages. */
const LEARNED_MS = 15_000;

interface Shown {
  readonly atMs: number;
  readonly sequence: number;
}

export interface LogEnd {
  readonly collectionId: number;
  /** Last event; 0: the log is empty. */
  readonly sequence: number;
  readonly chainHead: string;
  /** Event in its watermark; 0: no watermark. */
  readonly noted: number;
}

/** A log at one moment. */
export interface LogBefore {
  readonly collectionId: number;
  readonly frames: readonly Uint8Array[];
  /** The last sequence of a frame → the chain head after it, in hex. */
  readonly heads: ReadonlyMap<number, string>;
  /** The last event that has been stored for at least that long; 0: no event. */
  readonly sequenceFor: (ageMs: number) => number;
}

interface SeenFrame {
  readonly bytes: Buffer;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly storedMs: number;
  /** The process that had appended it last; undefined: unknown. */
  readonly by: string | undefined;
  /** Chain heads, in hex, of other frames that this process appended in its place long after it was stored. */
  readonly late: Set<string>;
}

interface SeenLog {
  readonly frames: SeenFrame[];
  /** The last append of each process. */
  readonly appended: Map<string, Buffer>;
  /** The last sequence of a frame → the chain head after it, in hex. */
  readonly heads: Map<number, string>;
  nextSequence: number;
  noted: number;
  /** How far the owner had applied the log, and when; ascending. */
  readonly shown: Shown[];
}

export class LogsJudge {
  readonly #logs = new Map<number, SeenLog>();
  /** Whether servers have lost stored messages: then a log may end before its watermark. */
  isLossKnown = false;

  constructor(
    private readonly findings: Findings,
    private readonly owners: OwnersJudge,
  ) {}

  /** Checks a published message. `hasExpectation`: the message names its predecessor. */
  published(subject: string, body: Buffer, by: string, hasExpectation: boolean): void {
    // Most messages are of another kind.
    if (!subject.startsWith('vouch.')) return;
    const [, appended] = LOG.exec(subject) ?? [];
    if (appended !== undefined && readBarrier(body) === undefined)
      this.#appends(Number(appended), body, by, hasExpectation);
    const [, fed] = FEED.exec(subject) ?? [];
    if (fed !== undefined) this.#feeds(Number(fed), body, by);
  }

  stored(subject: string, body: Buffer): void {
    const [, id] = LOG.exec(subject) ?? [];
    if (id !== undefined && readBarrier(body) === undefined) this.#grows(Number(id), body);
    const [, noted] = WATERMARK.exec(subject) ?? [];
    if (noted !== undefined && body.length > 0) this.#noted(Number(noted), body);
  }

  /** Last event of each log that is not empty, and the chain head after it. */
  *ends(): Generator<LogEnd> {
    for (const [collectionId, { heads, noted }] of this.#logs) {
      const [sequence, chainHead] = [...heads].at(-1) ?? [0, ''];
      yield { collectionId, sequence, chainHead, noted };
    }
  }

  /** Each log with all its frames. */
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

  /** Forgets every log. */
  forget(): void {
    this.#logs.clear();
  }

  /** The last event that the owner had applied by then; 0: unknown. */
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

  /** A process may append one more frame in the place of its own, which it then finds out. */
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

  /** A frame may be fed only once it is durable and its predecessor is applied. */
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
