/** Encodes and decodes the rows of all kinds of chunks except records; see `format.ts`. */
import { toHex } from '../../shared/hashing/hash.js';
import { HASH_BYTES, KEY_ID_BYTES, REQUEST_ID_BYTES } from '../../shared/limits.js';
import type { GraphEdge, GraphNode } from '../../shared/model/graph.js';
import { RECORD_STATE } from '../audit/leaf.js';
import type { LeafChange } from '../audit/leafJournal.js';
import { byteKey } from '../state/byteKey.js';
import type { AppliedRequest } from '../state/dedupWindow.js';
import type { EncryptedRecord } from '../state/encryptedRecords.js';
import type { ErasureFact } from '../state/erasureHistory.js';
import type { FramePlace } from '../state/logHistory.js';
import type { RowKind } from './format.js';

const GONE = -1;
const NO_RECORD = 0;

/** The row at `at` of a chunk's bytes. */
export class Row {
  at = 0;
  readonly #view: DataView;

  constructor(readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Writes f64 numbers one after another, from byte `from` of the row on. */
  put(from: number, ...numbers: number[]): void {
    for (let i = 0; i < numbers.length; i++) this.#view.setFloat64(this.at + from + 8 * i, numbers[i]!, true);
  }

  get(from: number): number {
    return this.#view.getFloat64(this.at + from, true);
  }

  putBytes(from: number, bytes: Uint8Array): void {
    this.bytes.set(bytes, this.at + from);
  }

  /** Returns a copy. */
  getBytes(from: number, length: number): Uint8Array {
    return this.bytes.slice(this.at + from, this.at + from + length);
  }
}

export interface RowCodec<T> {
  readonly kind: RowKind;
  readonly rowBytes: number;
  put(row: Row, item: T): void;
  get(row: Row): T;
}

/** A node or edge without its id, which is the number of its row. Null if it was deleted. */
type Unnumbered<T> = Omit<T, 'id'> | null;

export const FRAMES: RowCodec<FramePlace> = {
  kind: 'frames',
  rowBytes: 24,
  put: (row, { firstSequence, firstTimeMs, position }) => row.put(0, firstSequence, firstTimeMs, position),
  get: (row) => ({ firstSequence: row.get(0), firstTimeMs: row.get(8), position: row.get(16) }),
};

export const CHAIN_HEADS: RowCodec<Uint8Array> = {
  kind: 'chainHeads',
  rowBytes: HASH_BYTES,
  put: (row, head) => row.putBytes(0, head),
  get: (row) => row.getBytes(0, HASH_BYTES),
};

export const LEAF_CHANGES: RowCodec<LeafChange> = {
  kind: 'leafChanges',
  rowBytes: 24 + HASH_BYTES,
  put: (row, { sequence, index, leaves, oldLeaf }) => {
    row.put(0, sequence, index, leaves);
    row.putBytes(24, oldLeaf);
  },
  get: (row) => ({
    sequence: row.get(0),
    index: row.get(8),
    leaves: row.get(16),
    oldLeaf: row.getBytes(24, HASH_BYTES),
  }),
};

export const REQUESTS: RowCodec<[string, AppliedRequest]> = {
  kind: 'requests',
  rowBytes: REQUEST_ID_BYTES + 16,
  put: (row, [key, { recordId, sequence }]) => {
    row.putBytes(0, Buffer.from(key, 'latin1'));
    row.put(REQUEST_ID_BYTES, recordId, sequence);
  },
  get: (row) => [
    byteKey(row.getBytes(0, REQUEST_ID_BYTES)),
    { recordId: row.get(REQUEST_ID_BYTES), sequence: row.get(REQUEST_ID_BYTES + 8) },
  ],
};

export const NODES: RowCodec<Unnumbered<GraphNode>> = {
  kind: 'nodes',
  rowBytes: 16,
  put: (row, node) => row.put(0, node?.kind ?? GONE, node?.recordId ?? NO_RECORD),
  get: (row) => {
    const recordId = row.get(8);
    return row.get(0) === GONE ? null : { kind: row.get(0), recordId: recordId === NO_RECORD ? null : recordId };
  },
};

export const EDGES: RowCodec<Unnumbered<GraphEdge>> = {
  kind: 'edges',
  rowBytes: 24,
  put: (row, edge) => row.put(0, edge?.kind ?? GONE, edge?.from ?? 0, edge?.to ?? 0),
  get: (row) => (row.get(0) === GONE ? null : { kind: row.get(0), from: row.get(8), to: row.get(16) }),
};

export const GRAPH_ROOTS: RowCodec<{ readonly sequence: number; readonly root: Uint8Array }> = {
  kind: 'graphRoots',
  rowBytes: 8 + HASH_BYTES,
  put: (row, { sequence, root }) => {
    row.put(0, sequence);
    row.putBytes(8, root);
  },
  get: (row) => ({ sequence: row.get(0), root: row.getBytes(8, HASH_BYTES) }),
};

/** The bits of the state of an encrypted record that say whether it is live. */
const STATE = 3;
/** The bit for its content. */
const CONTENT = { slot: 4, lost: 8 } as const;

export const ENCRYPTED: RowCodec<EncryptedRecord> = {
  kind: 'encrypted',
  rowBytes: 48 + KEY_ID_BYTES + HASH_BYTES,
  put: (row, { id, tag, insertedMs, sequence, isTombstoned, payloadBytes, keyId, contentHash, content }) => {
    const state = isTombstoned ? RECORD_STATE.tombstoned : RECORD_STATE.live;
    row.put(0, id, tag, insertedMs, sequence, state + (content === undefined ? 0 : CONTENT[content]), payloadBytes);
    row.putBytes(48, Buffer.from(keyId, 'hex'));
    row.putBytes(48 + KEY_ID_BYTES, Buffer.from(contentHash, 'latin1'));
  },
  get: (row) => ({
    id: row.get(0),
    tag: row.get(8),
    insertedMs: row.get(16),
    sequence: row.get(24),
    isTombstoned: (row.get(32) & STATE) === RECORD_STATE.tombstoned,
    payloadBytes: row.get(40),
    keyId: toHex(row.getBytes(48, KEY_ID_BYTES)),
    contentHash: Buffer.from(row.getBytes(48 + KEY_ID_BYTES, HASH_BYTES)).toString('latin1'),
    ...contentIn(row.get(32)),
  }),
};

function contentIn(state: number): Pick<EncryptedRecord, 'content'> {
  if ((state & CONTENT.slot) !== 0) return { content: 'slot' };
  return (state & CONTENT.lost) === 0 ? {} : { content: 'lost' };
}

/** Record id and unix milliseconds of encrypted records that expire; a chunk of records has the expiries of the others. */
export const EXPIRIES: RowCodec<[number, number]> = {
  kind: 'expiries',
  rowBytes: 16,
  put: (row, [id, expiresAtMs]) => row.put(0, id, expiresAtMs),
  get: (row) => [row.get(0), row.get(8)],
};

export const SHREDDED: RowCodec<string> = {
  kind: 'shredded',
  rowBytes: KEY_ID_BYTES,
  put: (row, keyId) => row.putBytes(0, Buffer.from(keyId, 'hex')),
  get: (row) => toHex(row.getBytes(0, KEY_ID_BYTES)),
};

const ERASURES: readonly ErasureFact['kind'][] = ['unknownUntil', 'shred', 'former'];

/** The first row says up to which event the others are incomplete; its key id is zeros. */
export const ERASURE_FACTS: RowCodec<ErasureFact> = {
  kind: 'erasures',
  rowBytes: 16 + KEY_ID_BYTES,
  put: (row, { kind, sequence, keyId }) => {
    row.put(0, ERASURES.indexOf(kind), sequence);
    row.putBytes(16, Buffer.from(keyId, 'hex'));
  },
  get: (row) => ({
    kind: ERASURES[row.get(0)]!,
    sequence: row.get(8),
    keyId: toHex(row.getBytes(16, KEY_ID_BYTES)),
  }),
};

/** Numbers that only `VersionVisibility` interprets. */
export const LIFETIMES: RowCodec<number> = {
  kind: 'lifetimes',
  rowBytes: 8,
  put: (row, number) => row.put(0, number),
  get: (row) => row.get(0),
};

/** The settings of the access log, unless they are the defaults. `audit`: place in `READ_AUDITS`. */
export const READ_AUDIT: RowCodec<{ readonly audit: number; readonly retentionDays: number }> = {
  kind: 'readAudit',
  rowBytes: 8,
  put: (row, { audit, retentionDays }) => row.put(0, audit + retentionDays * DAYS_AT),
  get: (row) => {
    const number = row.get(0);
    return { audit: number % DAYS_AT, retentionDays: Math.floor(number / DAYS_AT) };
  },
};

/** The days are in the high half of the number. */
const DAYS_AT = 2 ** 32;

/** Yields the rows of a chunk, one at a time: all at once would block the thread. */
export function* rowsIn<T>({ rowBytes, get }: RowCodec<T>, bytes: Uint8Array): Generator<T> {
  const row = new Row(bytes);
  for (; row.at < bytes.length; row.at += rowBytes) yield get(row);
}
