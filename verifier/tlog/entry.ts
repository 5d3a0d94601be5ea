/**
 * Entries of the service log: the checkpoints of collections, that a collection was deleted, and which collections are there
 * (`docs/formats.md`).
 */
import { toHex } from '../bytes.js';
import { Reading } from '../reading.js';

interface EntryHead {
  readonly collectionId: number;
  /** The hash of the genesis, hex. It names the collection to those who know it, and tells others nothing. */
  readonly configHash: string;
  /** Of the signature of the checkpoint, or of the deletion. */
  readonly timeMs: number;
}

/** Hashes, key and signature in hex. */
export interface CheckpointEntry extends EntryHead {
  readonly type: 'checkpoint';
  readonly size: number;
  readonly root: string;
  readonly chainHead: string;
  readonly stateHash: string;
  readonly publicKey: string;
  /** Over the text of the checkpoint, which also holds the names of project and collection. */
  readonly signature: string;
}

export interface DeletionEntry extends EntryHead {
  readonly type: 'deletion';
}

/** Of the collections that the log has before the entry, and that it does not say were deleted. */
export interface CensusEntry {
  readonly type: 'census';
  /** How many the service has. */
  readonly present: number;
  /** The ids of those that it does not have, ascending. */
  readonly missing: readonly number[];
  readonly timeMs: number;
}

export type LogEntry = CheckpointEntry | DeletionEntry | CensusEntry;

const MAGIC = 'VLE1';
const CHECKPOINT = 1;
const DELETION = 2;
const CENSUS = 3;
const ID_BYTES = 8;

/** Throws an Error if these are not the bytes of an entry. */
export function parseEntry(bytes: Uint8Array): LogEntry {
  const reading = new Reading(bytes, 'the entry');
  reading.magic(MAGIC);
  const type = reading.u8();
  reading.zeros(3);
  if (type === CENSUS) return censusIn(reading);
  const head = {
    collectionId: Number(reading.u64()),
    timeMs: Number(reading.u64()),
    configHash: toHex(reading.take(32)),
  };
  if (type !== CHECKPOINT && type !== DELETION) reading.fail(`is of the unknown type ${type}`);
  const entry: LogEntry =
    type === DELETION
      ? { type: 'deletion', ...head }
      : {
          type: 'checkpoint',
          ...head,
          size: Number(reading.u64()),
          root: toHex(reading.take(32)),
          chainHead: toHex(reading.take(32)),
          stateHash: toHex(reading.take(32)),
          publicKey: toHex(reading.take(32)),
          signature: toHex(reading.take(64)),
        };
  reading.end();
  return entry;
}

function censusIn(reading: Reading): CensusEntry {
  const [present, timeMs] = [Number(reading.u64()), Number(reading.u64())];
  const missing = Array.from({ length: Math.floor(reading.left / ID_BYTES) }, () => Number(reading.u64()));
  reading.end();
  if (missing.some((id, i) => i > 0 && id <= missing[i - 1]!)) reading.fail('names missing collections out of order');
  return { type: 'census', present, missing, timeMs };
}
