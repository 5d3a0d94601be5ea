/**
 * Notes of openings, in BUCKETS.openings. A shard writes a note before it reads a collection to open it. A note that a dead or
 * silent process leaves behind means a failed opening of each collection in it.
 *
 * The end of a process proves nothing against a collection: operators and the system end processes too. It counts where the opening
 * ran one step, such as applying one event, and other processes have ended in that step too.
 *
 * The states of a collection:
 *
 * ```text
 * trusted ──an opening failed──▶ suspect: opened alone ──failed again──▶ quarantined ──released by an operator──▶ trusted
 *    ▲                              │
 *    └────────── opened ────────────┘
 * ```
 */
import typia from 'typia';
import type { Bucket, BucketValue, Entry } from '../bucket/bucket.js';
import type { NoteFile } from '../files/noteFile.js';
import type { UnixMs, Whole } from '../model/whole.js';

/** The openings in progress of one process. */
export interface StoredOpenings {
  /** The process, by the session in its shard's heartbeat. */
  readonly session: string;
  /** Collection id → the number of the opening, unique in the process. */
  readonly openings: { readonly [collectionId: string]: Whole };
  /** The collection that is opened while no other is; null if others are. */
  readonly alone: Whole | null;
}

export interface OpeningFailure {
  /** The process and the number of the opening; no opening is counted twice. */
  readonly opening: string;
  readonly shard: string;
  /**
   * The fate of the process. If `stalled`, it reports that this collection blocked its event loop and cost it the lease. If
   * `blocked`, it has no lease, and does not answer.
   */
  readonly how: 'stalled' | 'blocked' | 'ended';
  /** The step of the opening in which the process ended; absent if it was between two steps, or if that is unknown. */
  readonly step?: string;
  /** Whether no other collection was opened at the same time. */
  readonly alone: boolean;
  readonly at_ms: UnixMs;
}

/** Null: no record expires. */
export interface StoredDue {
  readonly next_expiry_ms: UnixMs | null;
}

export interface StoredFailures {
  readonly failures: readonly OpeningFailure[];
}

export const isOpenings = typia.createIs<StoredOpenings>();
export const areFailures = typia.createIs<StoredFailures>();
export const isDue = typia.createIs<StoredDue>();

export const openingsKey = (shard: string): string => `by.${shard}`;
export const failuresKey = (collectionId: number): string => `of.${collectionId}`;

/** The key of the time at which the owner of a collection opens it, to remove records that have expired. */
export const dueKey = (collectionId: number): string => `due.${collectionId}`;

/** Returns the shard of an `openingsKey`; undefined for another key. */
export const shardOfKey = (key: string): string | undefined => (key.startsWith('by.') ? key.slice(3) : undefined);
/** Returns the collection of a `failuresKey`; undefined for another key. */
export const collectionOfKey = (key: string): number | undefined =>
  key.startsWith('of.') ? Number(key.slice(3)) : undefined;
/** Returns the collection of a `dueKey`; undefined for another key. */
export const collectionOfDueKey = (key: string): number | undefined =>
  key.startsWith('due.') ? Number(key.slice(4)) : undefined;

export const openingsOf = (entry: Entry): StoredOpenings => entry.value as unknown as StoredOpenings;
export const failuresOf = (entry: Entry): readonly OpeningFailure[] =>
  (entry.value as unknown as StoredFailures).failures;
/** The time of a note; +∞ if no record expires. */
export const dueOf = (entry: Entry): number =>
  (entry.value as unknown as StoredDue).next_expiry_ms ?? Number.POSITIVE_INFINITY;
export const storedDue = (nextMs: number): BucketValue => ({
  next_expiry_ms: nextMs === Number.POSITIVE_INFINITY ? null : nextMs,
});
export const storedOpenings = (openings: StoredOpenings): BucketValue => openings as unknown as BucketValue;
export const storedFailures = (failures: readonly OpeningFailure[]): BucketValue =>
  ({ failures }) as unknown as BucketValue;

/** The note of one shard. */
export interface OpeningsNote {
  read(): Promise<StoredOpenings | undefined>;
  /** Undefined: no opening is in progress. Throws `unavailable`. */
  write(openings: StoredOpenings | undefined): Promise<void>;
}

/** Keeps the note in a bucket, which all shards of a cluster see. */
export const noteInBucket = (bucket: Bucket, shard: string): OpeningsNote => {
  const key = openingsKey(shard);
  return {
    read: async () => {
      const entry = await bucket.get(key);
      return entry && openingsOf(entry);
    },
    write: async (openings) => {
      if (openings === undefined) await bucket.delete(key);
      else await bucket.put(key, storedOpenings(openings));
    },
  };
};

/**
 * Keeps the note in a file, for the next process of a standalone node. A failed write, such as to a full disk, calls `onFailure`
 * instead of throwing: it must not keep collections closed.
 */
export const noteInFile = (
  file: Pick<NoteFile, 'read' | 'write'>,
  onFailure: (error: unknown) => void,
): OpeningsNote => ({
  read: async () => {
    const note = await file.read();
    return isOpenings(note) ? note : undefined;
  },
  write: async (openings) => {
    try {
      file.write(openings);
    } catch (error) {
      onFailure(error);
    }
  },
});

/** Failures of live processes that quarantine a collection. */
const BLOCKED_MAX = 2;
/** Failures of any kind that quarantine a collection: one more, since an operator may have ended a process in any step. */
const FAILED_MAX = 3;
/** The newest failures of a collection that are kept. */
const KEPT = 8;

/**
 * Whether the collection must not be opened any more. If several collections were being opened, a failure does not show which one
 * caused it: all such failures together count as one. A failure of a collection that was opened alone counts fully.
 */
export function isQuarantined(failures: readonly OpeningFailure[]): boolean {
  const counted = evidenceIn(failures);
  const named = counted.filter(({ how, alone }) => alone || how === 'stalled');
  const unnamed = counted.filter((failure) => !named.includes(failure));
  const isAlive = ({ how }: OpeningFailure): boolean => how !== 'ended';
  const blocked = named.filter(isAlive).length + (unnamed.some(isAlive) ? 1 : 0);
  const failed = named.length + (unnamed.length > 0 ? 1 : 0);
  return (named.some(isAlive) && blocked >= BLOCKED_MAX) || failed >= FAILED_MAX;
}

/**
 * The failures that count: those after the last process that ended in another step, since later openings passed that step. An
 * end without a step does not count.
 */
function evidenceIn(failures: readonly OpeningFailure[]): readonly OpeningFailure[] {
  const evidence = failures.filter(({ how, step }) => how !== 'ended' || step !== undefined);
  const lastStep = evidence.findLast(({ step }) => step !== undefined)?.step;
  const other = evidence.findLastIndex(({ step }) => step !== undefined && step !== lastStep);
  return evidence.slice(other + 1);
}

/**
 * Returns the failures with the new one; `failures` itself if it adds nothing. A process's report about its own opening replaces
 * another shard's report. The step in which a process ended is added to the known failure of that opening.
 */
export function withFailure(failures: readonly OpeningFailure[], failure: OpeningFailure): readonly OpeningFailure[] {
  const known = failures.find(({ opening }) => opening === failure.opening);
  if (failure.how === 'ended') {
    // An end without a step only makes the collection suspect.
    if (failure.step === undefined && failures.length > 0) return failures;
    if (known?.step !== undefined) return failures;
  } else if (known !== undefined && failure.how !== 'stalled') return failures;
  const after = failure.how === 'ended' && known !== undefined ? { ...known, step: failure.step! } : failure;
  return [...failures.filter((each) => each !== known), after].slice(-KEPT);
}
