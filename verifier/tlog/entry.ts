/**
 * Entries of the service log: checkpoints and deletions of collections, states of access logs, and census entries (`docs/formats.md`).
 */
import { toHex } from '../bytes.js';
import { Reading } from '../reading.js';

interface EntryHead {
  readonly collectionId: number;
  /** The hash of the genesis, hex. It identifies the collection only to those who know the genesis. */
  readonly configHash: string;
  /** The time of the checkpoint's signature, or of the deletion. */
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
  /** Signature of the checkpoint's text, which also has the names of project and collection. */
  readonly signature: string;
}

export interface DeletionEntry extends EntryHead {
  readonly type: 'deletion';
}

/** A count of the collections that have entries before this one, and no deletion among them. */
export interface CensusEntry {
  readonly type: 'census';
  /** Number of those that the service has. */
  readonly present: number;
  /** Ids of the missing ones, ascending. */
  readonly missing: readonly number[];
  readonly timeMs: number;
}

/** The access log of a collection after `size` entries. */
export interface AccessLogEntry extends EntryHead {
  readonly type: 'access log';
  readonly size: number;
  readonly chainHead: string;
  readonly root: string;
}

export type LogEntry = CheckpointEntry | DeletionEntry | CensusEntry | AccessLogEntry;

const MAGIC = 'VLE1';
const CHECKPOINT = 1;
const DELETION = 2;
const CENSUS = 3;
const ACCESS = 4;
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
  if (type === ACCESS) return accessLogIn(head, reading);
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

function accessLogIn(head: EntryHead, reading: Reading): AccessLogEntry {
  const size = Number(reading.u64());
  const [chainHead, root] = [toHex(reading.take(32)), toHex(reading.take(32))];
  reading.end();
  return { type: 'access log', ...head, size, chainHead, root };
}

function censusIn(reading: Reading): CensusEntry {
  const [present, timeMs] = [Number(reading.u64()), Number(reading.u64())];
  const missing = Array.from({ length: Math.floor(reading.left / ID_BYTES) }, () => Number(reading.u64()));
  reading.end();
  if (missing.some((id, i) => i > 0 && id <= missing[i - 1]!)) reading.fail('names missing collections out of order');
  return { type: 'census', present, missing, timeMs };
}
