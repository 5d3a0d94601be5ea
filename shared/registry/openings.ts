/**
 * Openings of collections, in BUCKETS.openings. A shard notes the collections that it is opening, before it reads them. A note
 * that a dead or silent process leaves behind is a failed opening of each of its collections.
 *
 * The states of a collection:
 *
 *   trusted ──an opening failed──▶ suspect: opened alone ──failed again──▶ quarantined ──released by an operator──▶ trusted
 *      ▲                              │
 *      └────────── opened ────────────┘
 */
import typia from 'typia';
import type { Bucket, BucketValue, Entry } from '../bucket/bucket.js';
import type { NoteFile } from '../files/noteFile.js';
import type { UnixMs, Whole } from '../model/whole.js';

/** The openings in progress of one process. */
export interface StoredOpenings {
  /** The process, as in the heartbeat of its shard. */
  readonly session: string;
  /** Collection id → the number of the opening, unique in the process. */
  readonly openings: { readonly [collectionId: string]: Whole };
  /** The collection that nothing else is opened beside; null: none is. */
  readonly alone: Whole | null;
}

export interface OpeningFailure {
  /** The process and the number of the opening; no opening is counted twice. */
  readonly opening: string;
  readonly shard: string;
  /**
   * The fate of the process. `stalled`: It saw that this collection blocked its event loop and cost it the lease. `blocked`: It has lost its
   * lease and does not answer. `ended`: It does not run any more.
   */
  readonly how: 'stalled' | 'blocked' | 'ended';
  /** Whether nothing else was opened beside it. */
  readonly alone: boolean;
  readonly at_ms: UnixMs;
}

export interface StoredFailures {
  readonly failures: readonly OpeningFailure[];
}

export const isOpenings = typia.createIs<StoredOpenings>();
export const areFailures = typia.createIs<StoredFailures>();

export const openingsKey = (shard: string): string => `by.${shard}`;
export const failuresKey = (collectionId: number): string => `of.${collectionId}`;

/** The shard or the collection that a key names. */
export const shardOfKey = (key: string): string | undefined => (key.startsWith('by.') ? key.slice(3) : undefined);
export const collectionOfKey = (key: string): number => Number(key.slice(3));

export const openingsOf = (entry: Entry): StoredOpenings => entry.value as unknown as StoredOpenings;
export const failuresOf = (entry: Entry): readonly OpeningFailure[] =>
  (entry.value as unknown as StoredFailures).failures;
export const storedOpenings = (openings: StoredOpenings): BucketValue => openings as unknown as BucketValue;
export const storedFailures = (failures: readonly OpeningFailure[]): BucketValue =>
  ({ failures }) as unknown as BucketValue;

/** The note of one shard. */
export interface OpeningsNote {
  read(): Promise<StoredOpenings | undefined>;
  /** Undefined: no opening is in progress. Throws `unavailable`. */
  write(openings: StoredOpenings | undefined): Promise<void>;
}

/** Seen by all shards of a cluster. */
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

/** For the next process of a standalone node. */
export const noteInFile = (file: Pick<NoteFile, 'read' | 'write'>): OpeningsNote => ({
  read: async () => {
    const note = await file.read();
    return isOpenings(note) ? note : undefined;
  },
  write: async (openings) => file.write(openings),
});

/** Two, as far as the process was alive meanwhile. */
const BLOCKED_MAX = 2;
/** A process that was ended by hand looks like one that a collection ended. */
const FAILED_MAX = 3;

/**
 * Whether the collection must not be opened any more. The first failure may be of any collection that was opened beside it: it is
 * counted once, and makes each of them suspect. Later ones name the collection, which was opened alone.
 */
export function isQuarantined(failures: readonly OpeningFailure[]): boolean {
  const named = failures.filter(({ how, alone }) => alone || how === 'stalled');
  const unnamed = failures.filter((failure) => !named.includes(failure));
  const isAlive = ({ how }: OpeningFailure): boolean => how !== 'ended';
  const blocked = named.filter(isAlive).length + (unnamed.some(isAlive) ? 1 : 0);
  const failed = named.length + (unnamed.length > 0 ? 1 : 0);
  return (named.some(isAlive) && blocked >= BLOCKED_MAX) || failed >= FAILED_MAX;
}
