/** Entries of the service log: the checkpoints of collections, and that a collection was deleted (`docs/formats.md`). */
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

export type LogEntry = CheckpointEntry | DeletionEntry;

const MAGIC = 'VLE1';
const CHECKPOINT = 1;
const DELETION = 2;

/** Throws an Error if these are not the bytes of an entry. */
export function parseEntry(bytes: Uint8Array): LogEntry {
  const reading = new Reading(bytes, 'the entry');
  reading.magic(MAGIC);
  const type = reading.u8();
  reading.zeros(3);
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
