/**
 * Follows a service log: reads every new checkpoint and entry. It checks that the log only grows, and that its entries about each
 * collection are possible. The caller keeps the state between visits: a few hashes, and the last state of each collection.
 */
import { equal, fromHex, toHex } from '../bytes.js';
import { counted } from '../counted.js';
import {
  type AccessLogEntry,
  type CensusEntry,
  type CheckpointEntry,
  type DeletionEntry,
  type LogEntry,
  parseEntry,
} from './entry.js';
import { Frontier, leafHash } from './merkle.js';
import { type Policy, type TrustedCheckpoint, verifyTreeHead } from './policy.js';
import { entriesIn, TILE_WIDTH, tilePath, tileWidth } from './tiles.js';

/** Reads a file of the log by its path below the prefix of the log, such as `checkpoint`. */
export type ReadLogFile = (path: string) => Promise<Uint8Array>;

export interface SeenCollection {
  readonly configHash: string;
  readonly size: number;
  readonly root: string;
  readonly timeMs: number;
  readonly isDeleted: boolean;
}

/** The last entry about an access log. */
export interface SeenAccess {
  readonly size: number;
  readonly root: string;
  readonly timeMs: number;
}

/** The service's last census. */
export interface SeenCensus {
  readonly timeMs: number;
  /** Ids of collections that are missing without a deletion in the log. */
  readonly missing: readonly number[];
}

/** State between two visits, as plain JSON. */
export interface SeenLog {
  /** The newest checkpoint that held: a signed note. */
  readonly checkpoint: string;
  readonly size: number;
  /** Hashes of the largest full subtrees, hex, from which the tree continues. */
  readonly peaks: readonly string[];
  /** Collections by id. */
  readonly collections: Readonly<Record<string, SeenCollection>>;
  /** Access logs by the id of their collection; absent without any. */
  readonly accesses?: Readonly<Record<string, SeenAccess>>;
  /** Absent before the first census. */
  readonly census?: SeenCensus;
}

/** Error of a log that an honest service would never publish. */
export class LogAlarm extends Error {
  constructor(
    message: string,
    /** Signed checkpoints that contradict each other: proofs for others. */
    readonly evidence: readonly string[] = [],
  ) {
    super(message);
    this.name = 'LogAlarm';
  }
}

export interface LogVisit {
  readonly seen: SeenLog;
  readonly checkpoint: TrustedCheckpoint;
  /** The entries since the last visit. */
  readonly entries: readonly LogEntry[];
}

/**
 * Reads the new part of a log. `seen`: from the last visit; undefined at the first, which reads the whole log. Throws LogAlarm if
 * the log was changed or cut, or has an impossible entry. Throws an Error if it cannot be read, or the policy does not accept it.
 */
export async function visitLog(read: ReadLogFile, policy: Policy, seen: SeenLog | undefined): Promise<LogVisit> {
  const note = new TextDecoder().decode(await read('checkpoint'));
  const checkpoint = verifyTreeHead(note, policy);
  const frontier = new Frontier(seen?.size ?? 0, seen?.peaks.map(fromHex) ?? []);
  const evidence = seen === undefined ? [note] : [seen.checkpoint, note];
  if (checkpoint.size < frontier.size)
    throw new LogAlarm(
      `the log had ${counted(frontier.size, 'entry', 'entries')} and has ${checkpoint.size}: its end was cut off`,
      evidence,
    );
  const fresh = await entriesFrom(read, frontier.size, checkpoint.size);
  for (const entry of fresh) frontier.append(leafHash(entry));
  if (!equal(frontier.root(), checkpoint.root))
    throw new LogAlarm(
      fresh.length === 0
        ? `the log has signed two histories of ${counted(checkpoint.size, 'entry', 'entries')}`
        : `the signed checkpoint of ${counted(checkpoint.size, 'entry', 'entries')} does not fit the entries seen before and those served since`,
      evidence,
    );
  const log = new SaidOfCollections(seen, evidence);
  const entries = fresh.map((bytes, i) => log.follow(bytes, checkpoint.size - fresh.length + i));
  const missing = log.census?.missing ?? [];
  if (missing.length > 0)
    throw new LogAlarm(
      `the service says that it has lost ${missing.length} of its collections (ids ${listed(missing)}), and the log does not say that they were deleted`,
      evidence,
    );
  return {
    seen: {
      ...{ checkpoint: note, size: checkpoint.size, peaks: frontier.peaks.map(toHex) },
      collections: Object.fromEntries(log.collections),
      ...(log.accesses.size === 0 ? {} : { accesses: Object.fromEntries(log.accesses) }),
      ...(log.census === undefined ? {} : { census: log.census }),
    },
    ...{ checkpoint, entries },
  };
}

const SHOWN_IDS = 10;
const listed = (ids: readonly number[]): string =>
  `${ids.slice(0, SHOWN_IDS).join(', ')}${ids.length > SHOWN_IDS ? ', …' : ''}`;

/**
 * Reads again the entries that a visit with the result `seen` has read. Throws LogAlarm if they have changed, and an Error if they
 * cannot be read.
 */
export async function readAgain(read: ReadLogFile, seen: SeenLog): Promise<readonly LogEntry[]> {
  const entries = await entriesFrom(read, 0, seen.size);
  const frontier = new Frontier();
  for (const entry of entries) frontier.append(leafHash(entry));
  if (frontier.peaks.map(toHex).join() !== seen.peaks.join())
    throw new LogAlarm(`the service shows other entries than before among the first ${seen.size}`, [seen.checkpoint]);
  return entries.map(parseEntry);
}

/** Reads entries bundle by bundle; a part of the first bundle may be known already. */
async function entriesFrom(read: ReadLogFile, from: number, size: number): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  while (from + found.length < size) {
    const at = from + found.length;
    const index = Math.floor(at / TILE_WIDTH);
    const width = tileWidth(size, 'entries', index);
    const bundle = entriesIn(await read(tilePath({ level: 'entries', index, width })));
    if (bundle.length !== width)
      throw new Error(`bundle ${index} has ${counted(bundle.length, 'entry', 'entries')} instead of ${width}`);
    found.push(...bundle.slice(at - index * TILE_WIDTH));
  }
  return found;
}

/** An entry about the events of a collection. */
type CollectionEntry = CheckpointEntry | DeletionEntry;

/** The state of the collections by the log's entries. */
class SaidOfCollections {
  readonly collections: Map<string, SeenCollection>;
  readonly accesses: Map<string, SeenAccess>;
  census: SeenCensus | undefined;
  /** Number of collections that were not deleted. */
  #living: number;

  constructor(
    seen: SeenLog | undefined,
    private readonly evidence: readonly string[],
  ) {
    this.collections = new Map(Object.entries(seen?.collections ?? {}));
    this.accesses = new Map(Object.entries(seen?.accesses ?? {}));
    this.census = seen?.census;
    this.#living = [...this.collections.values()].filter(({ isDeleted }) => !isDeleted).length;
  }

  /** Throws LogAlarm if the entry contradicts earlier ones. */
  follow(bytes: Uint8Array, index: number): LogEntry {
    let entry: LogEntry;
    try {
      entry = parseEntry(bytes);
    } catch (error) {
      throw this.#alarm(index, `it cannot be read: ${(error as Error).message}`);
    }
    if (entry.type === 'census') this.#count(entry, index);
    else if (entry.type === 'access log') this.#addAccess(entry, index);
    else this.#addEntry(entry, index);
    return entry;
  }

  #addAccess({ collectionId, size, root, timeMs }: AccessLogEntry, index: number): void {
    const id = String(collectionId);
    const before = this.accesses.get(id);
    const reason = before && rewritten(before, { size, root, timeMs });
    if (reason !== undefined) throw this.#alarm(index, `the access log of collection ${id}: ${reason}`);
    this.accesses.set(id, { size, root, timeMs });
  }

  #addEntry(entry: CollectionEntry, index: number): void {
    const id = String(entry.collectionId);
    const before = this.collections.get(id);
    const reason = before === undefined ? undefined : contradiction(before, entry);
    if (reason !== undefined) throw this.#alarm(index, `collection ${id}: ${reason}`);
    this.#living += Number(entry.type === 'checkpoint') - Number(before?.isDeleted === false);
    this.collections.set(id, stateAfter(before, entry));
  }

  #count({ timeMs, present, missing }: CensusEntry, index: number): void {
    if (timeMs < (this.census?.timeMs ?? 0)) throw this.#alarm(index, `time ran backwards, to ${timeMs} ms`);
    if (missing.length === 0 && present !== this.#living)
      throw this.#alarm(
        index,
        `the service says that it has ${counted(present, 'collection')}, and the log has ${this.#living} that were not deleted`,
      );
    this.census = { timeMs, missing };
  }

  #alarm(index: number, reason: string): LogAlarm {
    return new LogAlarm(`entry ${index}: ${reason}`, this.evidence);
  }
}

const stateAfter = (before: SeenCollection | undefined, entry: CollectionEntry): SeenCollection => ({
  ...{ configHash: entry.configHash, timeMs: entry.timeMs, isDeleted: entry.type === 'deletion' },
  ...(entry.type === 'checkpoint'
    ? { size: entry.size, root: entry.root }
    : { size: before?.size ?? 0, root: before?.root ?? '' }),
});

/** Why the entry contradicts earlier entries of its collection; undefined if it does not. */
function contradiction(before: SeenCollection, entry: CollectionEntry): string | undefined {
  if (before.isDeleted) return 'it was deleted, and is there again';
  if (entry.configHash !== before.configHash) return 'another collection has taken its id, without its deletion';
  if (entry.timeMs < before.timeMs) return `time ran backwards, from ${before.timeMs} to ${entry.timeMs} ms`;
  return entry.type === 'checkpoint' ? shrunk(before, entry) : undefined;
}

/** Why an access log contradicts its earlier entry; undefined if it does not. */
function rewritten(before: SeenAccess, { size, root, timeMs }: SeenAccess): string | undefined {
  if (timeMs < before.timeMs) return `time ran backwards, from ${before.timeMs} to ${timeMs} ms`;
  if (size < before.size) return `it had ${counted(before.size, 'entry', 'entries')} and has ${size}`;
  return size === before.size && root !== before.root
    ? `its ${counted(size, 'entry has', 'entries have')} another root than before`
    : undefined;
}

function shrunk(before: SeenCollection, { size, root }: CheckpointEntry): string | undefined {
  if (size < before.size) return `its log had ${counted(before.size, 'event')} and has ${size}`;
  return size === before.size && root !== before.root
    ? `its log of ${counted(size, 'event')} has another root than before`
    : undefined;
}
