/**
 * The access log of a collection, at its owner: an entry for each read. Entries that arrive during a commit are the next commit.
 *
 * ```text
 * closed ──first call: reads the last frame──▶ open ──a commit fails──▶ closed
 * ```
 */
import type { Clock } from '../../shared/clock.js';
import { counted } from '../../shared/errors/counted.js';
import { refusal, type VouchError } from '../../shared/errors/errors.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { toHex } from '../../shared/hashing/hash.js';
import {
  type AccessFrame,
  afterAccessFrame,
  decodeAccessFrame,
  encodeAccessFrame,
} from '../../shared/log/accessFrame.js';
import { AccessTree } from '../../shared/log/accessTree.js';
import { type EventLog, type EventLogs, LOG_START, LogDamaged, type Position } from '../../shared/log/eventLog.js';
import { accessDayMs } from '../../shared/model/accessDay.js';
import { accessLogId } from '../../shared/model/logId.js';
import type {
  AccessFramesCall,
  AccessHead,
  AccessPageCall,
  AccessResults,
  LogAccessCall,
  TrimAccessCall,
} from '../../shared/protocol/access.js';
import { Slice } from '../../shared/scheduling/slice.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { CallAdmission } from '../capacity/admission.js';
import { FramePlaces } from './framePlaces.js';

/** Bounds of the entries that wait for a commit. */
const WAITING_MAX = 4_096;
const WAITING_CHARS_MAX = 16 * 1024 * 1024;
/** Most characters of the entries of several calls in one commit. */
const COMMIT_CHARS = 512 * 1024;
/** Largest number of entries that one page looks at. */
const LOOKED_AT_MAX = 10_000;

/** The entries of a call. */
interface Waiting {
  readonly entries: readonly string[];
  readonly chars: number;
  readonly deadlineMs: number;
  readonly resolve: (result: null) => void;
  readonly reject: (error: unknown) => void;
}

interface OpenLog {
  readonly log: EventLog;
  /** The tree of the removed entries: the log begins after them. */
  begin: AccessTree;
  /** The tree of all entries. */
  tree: AccessTree;
  /** The position of the last frame. */
  position: Position;
  lastTimeMs: number;
}

export interface AccessLogServices {
  readonly logs: EventLogs;
  readonly admission: Pick<CallAdmission, 'refusal'>;
  readonly clock: Clock;
}

/** Frames were removed while they were read: the reading is repeated. */
class Trimmed extends Error {}

interface PlacedAccessFrame extends AccessFrame {
  readonly bytes: Uint8Array;
  readonly position: Position;
}

export class AccessLog {
  #opened: Promise<OpenLog> | undefined;
  #waiting: Waiting[] = [];
  #waitingEntries = 0;
  #waitingChars = 0;
  #committing: Promise<void> | undefined;
  /** Reason for refusing all calls; undefined while they are accepted. */
  #refusal: VouchError | undefined;
  readonly #places = new FramePlaces();

  constructor(
    private readonly collectionId: number,
    private readonly services: AccessLogServices,
  ) {}

  /** Resolves when the entries are durable. Throws Overloaded, `unavailable`; the entries may be stored all the same. */
  add({ entries }: LogAccessCall, { deadlineMs }: Envelope): Promise<null> {
    if (this.#refusal !== undefined) throw this.#refusal;
    const chars = entries.reduce((sum, { length }) => sum + length, 0);
    if (this.#waitingEntries + entries.length > WAITING_MAX || this.#waitingChars + chars > WAITING_CHARS_MAX)
      throw this.services.admission.refusal('access_queue');
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entries, chars, deadlineMs, resolve, reject });
      this.#waitingEntries += entries.length;
      this.#waitingChars += chars;
      this.#committing ??= this.#commitAll();
    });
  }

  /** Throws `entries_removed`. */
  page(call: AccessPageCall, { deadlineMs }: Envelope): Promise<AccessResults['accessPage']> {
    return retryTrimmed(() => this.#page(call, deadlineMs));
  }

  /** Throws `entries_removed`. */
  frames(call: AccessFramesCall, { deadlineMs }: Envelope): Promise<AccessResults['accessFrames']> {
    return retryTrimmed(() => this.#readFrames(call, deadlineMs));
  }

  /**
   * Removes the days that ended more than `retentionDays` ago. The day of the last entry stays, and so do entries that are not
   * covered. Throws LogDamaged, and removes nothing, if `covered` is not a state of this log.
   */
  trim(
    { covered }: TrimAccessCall,
    retentionDays: number,
    { deadlineMs }: Envelope,
  ): Promise<AccessResults['trimAccess']> {
    return retryTrimmed(() => this.#trim(covered, retentionDays, deadlineMs));
  }

  async #trim(covered: AccessHead, retentionDays: number, deadlineMs: number): Promise<AccessResults['trimAccess']> {
    const open = await this.#open();
    const { begin, log, lastTimeMs } = open;
    const keptFrom = Math.min(dayOf(this.services.clock.nowMs()) - retentionDays, dayOf(lastTimeMs));
    const kept = retentionDays === 0 ? undefined : await this.#firstOn(keptFrom, deadlineMs);
    const removed = kept?.before.size ?? 0;
    if (kept === undefined || removed <= begin.size || removed > covered.size) return { removed: 0 };
    await this.#assertCovered(covered, deadlineMs);
    await log.trim(kept.position);
    this.#places.forgetUpTo(removed + 1);
    open.begin = await this.#beginOf(log);
    return { removed: open.begin.size - begin.size };
  }

  /** The first frame of the day or a later one. */
  async #firstOn(day: number, deadlineMs: number): Promise<PlacedAccessFrame | undefined> {
    for await (const frame of this.#frames(1, day * accessDayMs(), deadlineMs))
      if (dayOf(timeOf(frame)) >= day) return frame;
    return undefined;
  }

  /** Throws LogDamaged if the log does not begin with the covered entries. */
  async #assertCovered(covered: AccessHead, deadlineMs: number): Promise<void> {
    let tree = (await this.#open()).tree.copy();
    if (covered.size < tree.size)
      for await (const { before, entries } of this.#frames(covered.size + 1, 0, deadlineMs)) {
        tree = before.copy();
        for (const entry of entries.slice(0, covered.size - before.size)) tree.append(entry);
        break;
      }
    const { size, chainHead, root } = headOf(tree);
    if (size !== covered.size || chainHead !== covered.chainHead || root !== covered.root)
      throw this.#damaged(`the service log states other hashes of its first ${covered.size} entries`);
  }

  async #page(call: AccessPageCall, deadlineMs: number): Promise<AccessResults['accessPage']> {
    const { fromMs, toMs, after, limit, actor, maxBytes } = call;
    const { tree, begin } = await this.#open();
    if (after > 0) assertKept(after + 1, begin, 'after');
    const head = { head: headOf(tree), ...(begin.size > 0 && { removed: headOf(begin) }) };
    const entries: string[] = [];
    let sizeBytes = 0;
    let looked = 0;
    let number = 0;
    for await (const frame of this.#frames(after + 1, fromMs, deadlineMs)) {
      number = frame.before.size;
      for (const bytes of frame.entries) {
        number += 1;
        if (number <= after) continue;
        if (number > tree.size) return { entries, ...head };
        const text = Buffer.from(bytes).toString();
        const { time, actor: by } = JSON.parse(text) as StoredEntry;
        const timeMs = Date.parse(time);
        if (timeMs > toMs) return { entries, ...head };
        const isWanted = timeMs >= fromMs && (actor === undefined || by.key_id === actor || by.on_behalf_of === actor);
        const isFull = entries.length === limit || (entries.length > 0 && sizeBytes + text.length > maxBytes);
        if (looked++ === LOOKED_AT_MAX || (isWanted && isFull)) return { entries, ...head, next: number - 1 };
        if (!isWanted) continue;
        entries.push(text);
        sizeBytes += text.length;
      }
    }
    return { entries, ...head };
  }

  async #readFrames(
    { from: wanted, maxBytes }: AccessFramesCall,
    deadlineMs: number,
  ): Promise<AccessResults['accessFrames']> {
    const { tree, begin } = await this.#open();
    // No entry has the number 0.
    const from = wanted || begin.size + 1;
    assertKept(from, begin, 'from');
    const frames: Uint8Array[] = [];
    let sizeBytes = 0;
    let last = tree.size;
    for await (const { bytes, before, entries } of this.#frames(from, 0, deadlineMs)) {
      if (before.size >= tree.size || (frames.length > 0 && sizeBytes + bytes.length > maxBytes)) break;
      frames.push(bytes);
      sizeBytes += bytes.length;
      last = before.size + entries.length;
    }
    return { frames, last, end: tree.size };
  }

  /** Returns the head of an open log that has entries; otherwise undefined. */
  async headInMemory(): Promise<AccessHead | undefined> {
    const opened = await this.#opened?.catch(() => undefined);
    return opened === undefined || opened.tree.size === 0 ? undefined : headOf(opened.tree);
  }

  /** Refuses all calls from now on, and resolves when no commit runs. */
  async end(refusal: VouchError): Promise<void> {
    this.#refusal = refusal;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(refusal);
    await this.#committing;
    await this.#close();
  }

  async #commitAll(): Promise<void> {
    // Entries that are added together go into one frame.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const taken = this.#take();
      try {
        await this.#commit(taken);
        for (const { resolve } of taken) resolve(null);
      } catch (error) {
        // The outcome may be unknown: the next commit reads the end of the log again.
        await this.#close();
        for (const { reject } of taken) reject(error);
      }
    }
    this.#committing = undefined;
  }

  #take(): Waiting[] {
    let count = 0;
    let sum = 0;
    for (const { entries, chars } of this.#waiting) {
      if (count > 0 && sum + chars > COMMIT_CHARS) break;
      sum += chars;
      this.#waitingEntries -= entries.length;
      count++;
    }
    this.#waitingChars -= sum;
    return this.#waiting.splice(0, count);
  }

  async #commit(taken: readonly Waiting[]): Promise<void> {
    const open = await this.#open();
    const timeMs = Math.max(this.services.clock.nowMs(), open.lastTimeMs);
    const time = new Date(timeMs).toISOString();
    const first = open.tree.size + 1;
    const entries: string[] = [];
    for (const { entries: texts } of taken)
      for (const text of texts) entries.push(`{"entry":${first + entries.length},"time":"${time}",${text.slice(1)}`);
    const { bytes, after } = encodeAccessFrame(this.collectionId, open.tree, entries);
    const deadlineMs = Math.max(...taken.map((waiting) => waiting.deadlineMs));
    const { position: before } = open;
    if (open.tree.size > 0 && dayOf(timeMs) !== dayOf(open.lastTimeMs)) await open.log.endSegment();
    const position = await open.log.append(bytes, before, deadlineMs);
    this.#places.add({ first, timeMs, after: before });
    open.tree = after;
    open.position = position;
    open.lastTimeMs = timeMs;
  }

  #open(): Promise<OpenLog> {
    if (this.#refusal !== undefined) throw this.#refusal;
    this.#opened ??= this.#openNow().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #openNow(): Promise<OpenLog> {
    const log = await this.services.logs.open(accessLogId(this.collectionId));
    try {
      await log.barrier();
      const head = await log.head();
      if (head === undefined)
        return { log, begin: new AccessTree(), tree: new AccessTree(), position: LOG_START, lastTimeMs: 0 };
      const frame = this.#decoded(head.bytes);
      const tree = afterAccessFrame(frame);
      const begin = await this.#beginOf(log);
      return { log, begin, tree, position: head.position, lastTimeMs: timeOf(frame) };
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /** The tree before the first frame. */
  async #beginOf(log: EventLog): Promise<AccessTree> {
    for await (const { bytes } of log.read(LOG_START)) return this.#decoded(bytes).before;
    return new AccessTree();
  }

  async #close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.then(({ log }) => log.close()).catch(() => undefined);
  }

  /** The frames from the one with entry `from` on, and with entries at or after the time. */
  async *#frames(from: number, fromMs: number, deadlineMs: number): AsyncGenerator<PlacedAccessFrame> {
    const open = await this.#open();
    const { log } = open;
    const slice = new Slice(this.services.clock, deadlineMs);
    let after = this.#places.before(from, fromMs);
    let size = after === LOG_START ? open.begin.size : undefined;
    for await (const { position, bytes } of log.read(after)) {
      const frame = this.#decoded(bytes);
      const { before, entries } = frame;
      // A stale replica still has removed frames.
      if (before.size < open.begin.size) continue;
      if (size !== undefined && before.size !== size) throw await this.#gap(open, size, before.size);
      size = before.size + entries.length;
      this.#places.add({ first: before.size + 1, timeMs: timeOf(frame), after });
      after = position;
      if (size >= from) yield { ...frame, bytes, position };
      if (slice.due) await slice.next();
    }
  }

  /** The error of a reading that met a frame after `found` entries instead of `size`. */
  async #gap(open: OpenLog, size: number, found: number): Promise<Error> {
    open.begin = await this.#beginOf(open.log);
    if (open.begin.size < found || found <= size)
      return this.#damaged(`after ${counted(size, 'entry', 'entries')} come ${found}`);
    this.#places.forgetUpTo(found + 1);
    return new Trimmed();
  }

  #decoded(bytes: Uint8Array): AccessFrame {
    try {
      const frame = decodeAccessFrame(bytes);
      if (frame.collectionId !== this.collectionId) throw this.#damaged('it has a frame of another collection');
      return frame;
    } catch (error) {
      throw error instanceof Malformed ? this.#damaged(error.message) : error;
    }
  }

  #damaged(reason: string): LogDamaged {
    return new LogDamaged(accessLogId(this.collectionId), reason);
  }
}

/** The part of an entry that pages select by. */
interface StoredEntry {
  readonly time: string;
  readonly actor: { readonly key_id: string; readonly on_behalf_of?: string };
}

const dayOf = (timeMs: number): number => Math.floor(timeMs / accessDayMs());

/** Repeats a reading if its frames were removed meanwhile. */
async function retryTrimmed<T>(read: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Trimmed)) throw error;
    }
}

/** Throws `entries_removed` if the entry is gone. */
function assertKept(entry: number, { size: removed }: AccessTree, field: 'after' | 'from'): void {
  if (entry > removed) return;
  throw refusal('entries_removed', 'log', {
    removed,
    field,
    first: `${field}=${removed + (field === 'after' ? 0 : 1)}`,
  });
}

/** All entries of a frame have one time. */
const timeOf = ({ entries }: AccessFrame): number =>
  Date.parse((JSON.parse(Buffer.from(entries[0]!).toString()) as StoredEntry).time);

const headOf = (tree: AccessTree): AccessHead => ({
  size: tree.size,
  chainHead: toHex(tree.chainHead),
  root: toHex(tree.root()),
});
