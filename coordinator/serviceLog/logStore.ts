/**
 * This process's copy of the service log: its tree, and the newest entries of each collection. It grows only by the frames of
 * the log, in their order, so all copies agree.
 *
 * ```text
 * frame with first = size   ──▶ folded
 * frame with first < size   ──▶ superseded: an earlier frame has these indexes; never served
 * frame with first > size   ──▶ damage: no further frame is folded
 * ```
 */
import type { Clock } from '../../shared/clock.js';
import { counted } from '../../shared/errors/counted.js';
import { unavailable } from '../../shared/errors/errors.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { type EventLog, LOG_START, LogDamaged, type Position, SERVICE_LOG_ID } from '../../shared/log/eventLog.js';
import { Mutex } from '../../shared/scheduling/mutex.js';
import { Slice } from '../../shared/scheduling/slice.js';
import { type AccessHeadEntry, type CensusEntry, DELETION, readAccess, readCensus, readEntryHead } from './entry.js';
import { bundleOf, decodeFrame, encodeFrame, type LogFrame } from './frame.js';
import { leafHash, ServiceTree, TILE_WIDTH } from './tree.js';

/** A collection, as its newest entries describe it. */
export interface Logged {
  readonly configHash: string;
  /** Number of events, with the genesis. */
  readonly size: number;
  readonly timeMs: number;
  readonly isDeleted: boolean;
  /** The indexes in the log of its newest entries. There are several while the newest one lacks its quorum of witnesses. */
  readonly indexes: readonly number[];
}

/** The newest entry about the access log of a collection. */
export interface LoggedAccess {
  /** Number of entries in the access log. */
  readonly size: number;
  readonly timeMs: number;
  /** The indexes of the newest entries about it, as in `Logged`. */
  readonly indexes: readonly number[];
}

interface Placed {
  /** Position of the previous frame: reading begins after it. */
  readonly after: Position;
  readonly first: number;
}

/** Largest number of bundles in memory. The last requested ones are kept: readers that follow the log all request the newest. */
const BUNDLES_KEPT = 64;
/** Largest number of readers that wait for the store. */
const READERS_MAX = 64;

export class LogStore {
  readonly tree = new ServiceTree();
  readonly #frames: Placed[] = [];
  readonly #collections = new Map<number, Logged>();
  readonly #accesses = new Map<number, LoggedAccess>();
  #living = 0;
  #census: CensusEntry | undefined;
  /** The entries of the bundles in memory. The last bundle of the log may be incomplete. */
  readonly #bundles = new Map<number, readonly Uint8Array[]>();
  readonly #reads = new Mutex();
  #reading = 0;
  readonly #turns = new Mutex();
  #last: Position = LOG_START;

  constructor(
    private readonly log: EventLog,
    private readonly clock: Clock,
    /** Number of entries that a quorum of witnesses has seen. Only a collection's newest entry among them is remembered. */
    private readonly witnessedSize: () => number,
  ) {}

  /** Longest time by which this copy may lag behind the stored log. */
  get staleMs(): number {
    return this.log.staleMs;
  }

  /** All collections of the log, in the order of their last entries. */
  get collections(): ReadonlyMap<number, Logged> {
    return this.#collections;
  }

  /** The access logs of collections that are not deleted. */
  get accesses(): ReadonlyMap<number, LoggedAccess> {
    return this.#accesses;
  }

  /** Number of collections without a deletion in the log. */
  get living(): number {
    return this.#living;
  }

  /** The newest census. */
  get census(): CensusEntry | undefined {
    return this.#census;
  }

  /** Reads and folds the new frames of the log. Throws `unavailable`, LogDamaged. */
  refresh(): Promise<void> {
    return this.#turns.run(() => this.#refresh());
  }

  /**
   * Appends entries, and folds them when they are durable. Throws Fenced if another process has written. After any failure,
   * `refresh` must be called before the next append.
   */
  append(entries: readonly Uint8Array[], deadlineMs: number): Promise<void> {
    return this.#turns.run(async () => {
      const frame = { first: this.tree.size, entries };
      const after = this.#last;
      const position = await this.log.append(encodeFrame(frame), after, deadlineMs);
      this.#fold(frame, after);
      this.#last = position;
    });
  }

  /**
   * The bytes of a bundle of `width` entries; undefined if the log has fewer. Throws `unavailable`, also if too many readers
   * wait: their number needs a bound, since they need no key.
   */
  async bundle(index: number, width: number): Promise<Uint8Array | undefined> {
    const first = index * TILE_WIDTH;
    if (first + width > this.tree.size) return undefined;
    const kept = this.#bundles.get(index) ?? [];
    if (kept.length >= width) return bundleOf(kept.slice(0, width));
    if (this.#reading >= READERS_MAX) throw unavailable('too many readers of the service log; retry shortly');
    this.#reading += 1;
    try {
      return await this.#reads.run(async () => {
        // Another reader may have fetched it meanwhile.
        const entries = this.#bundles.get(index) ?? [];
        if (entries.length < width) this.#keep(index, await this.entries(first, this.#bundleEnd(first)));
        return bundleOf(this.#bundles.get(index)!.slice(0, width));
      });
    } finally {
      this.#reading -= 1;
    }
  }

  /** The entries from `from` to before `to`; the log must have them. Throws `unavailable`, LogDamaged. */
  async entries(from: number, to: number): Promise<Uint8Array[]> {
    const found: Uint8Array[] = [];
    const start = this.#frames.findLast(({ first }) => first <= from);
    let end = start?.first ?? 0;
    for await (const { bytes } of this.log.read(start?.after ?? LOG_START)) {
      const { first, entries } = decoded(bytes);
      if (first < end) continue;
      if (first > end) break;
      end += entries.length;
      found.push(...entries.slice(Math.max(0, from - first), to - first));
      if (end >= to) return found;
    }
    throw damaged(`entry ${from + found.length} is missing`);
  }

  async #refresh(): Promise<void> {
    const slice = new Slice(this.clock);
    for await (const { position, bytes } of this.log.read(this.#last)) {
      const frame = decoded(bytes);
      if (frame.first > this.tree.size)
        throw damaged(`after ${counted(this.tree.size, 'entry', 'entries')} comes entry ${frame.first}`);
      if (frame.first === this.tree.size) this.#fold(frame, this.#last);
      this.#last = position;
      if (slice.due) await slice.next();
    }
  }

  #fold({ first, entries }: LogFrame, after: Position): void {
    this.#frames.push({ after, first });
    for (const [i, entry] of entries.entries()) {
      this.tree.append(leafHash(entry));
      this.#remember(entry, first + i);
    }
  }

  #remember(entry: Uint8Array, index: number): void {
    const census = readCensus(entry);
    const access = readAccess(entry);
    if (access !== undefined) this.#rememberAccess(access, index);
    else if (census === undefined) this.#rememberCollection(entry, index);
    else this.#census = census;
  }

  #rememberAccess({ collectionId, size, timeMs }: AccessHeadEntry, index: number): void {
    const indexes = this.#withIndex(this.#accesses.get(collectionId)?.indexes, index);
    this.#accesses.set(collectionId, { size, timeMs, indexes });
  }

  /** The list with another index, and without the older ones that no proof needs. */
  #withIndex(indexes: readonly number[] = [], index: number): readonly number[] {
    // The list is copied, since others may use the old one. That is cheap: most collections have one entry.
    let grown: readonly number[] = [...indexes, index];
    while (grown.length > 1 && grown[1]! < this.witnessedSize()) grown = grown.slice(1);
    return grown;
  }

  #rememberCollection(entry: Uint8Array, index: number): void {
    const { type, collectionId, configHash, size, timeMs } = readEntryHead(entry);
    const before = this.#collections.get(collectionId);
    const isDeleted = type === DELETION;
    const indexes = this.#withIndex(before?.indexes, index);
    if (isDeleted) this.#accesses.delete(collectionId);
    this.#living += Number(!isDeleted) - Number(before?.isDeleted === false);
    this.#collections.delete(collectionId);
    this.#collections.set(collectionId, {
      ...{ configHash, timeMs, isDeleted, indexes },
      size: isDeleted ? (before?.size ?? 0) : size,
    });
  }

  #bundleEnd(first: number): number {
    return Math.min(first + TILE_WIDTH, this.tree.size);
  }

  #keep(index: number, entries: readonly Uint8Array[]): void {
    this.#bundles.delete(index);
    this.#bundles.set(index, entries);
    const [oldest] = this.#bundles.keys();
    if (this.#bundles.size > BUNDLES_KEPT) this.#bundles.delete(oldest!);
  }
}

function decoded(bytes: Uint8Array): LogFrame {
  try {
    return decodeFrame(bytes);
  } catch (error) {
    throw error instanceof Malformed ? damaged(error.message) : error;
  }
}

const damaged = (reason: string): LogDamaged => new LogDamaged(SERVICE_LOG_ID, reason);
