/** The rows of a snapshot whose kinds have rows all alike, to bytes and back: see `format.ts`. */

import type { GraphEdge, GraphNode } from '../../shared/graph.js';
import { toHex } from '../../shared/hash.js';
import { HASH_BYTES, KEY_ID_BYTES, REQUEST_ID_BYTES } from '../../shared/limits.js';
import { RECORD_STATE } from '../audit/leaf.js';
import type { LeafChange } from '../audit/leafJournal.js';
import type { FramePlace } from '../collection/history.js';
import { type AppliedRequest, requestKey } from '../collection/requestWindow.js';
import type { EncryptedRecord } from '../encrypted/encryptedRecords.js';
import { ROW_BYTES, type RowKind } from './format.js';

/** One row, to be written to or read from. */
export interface RowBytes {
  readonly view: DataView;
  readonly bytes: Uint8Array;
  readonly at: number;
}

const GONE = -1;
const NO_RECORD = 0;

const put = ({ view, at }: RowBytes, ...numbers: number[]): void =>
  numbers.forEach((number, i) => {
    view.setFloat64(at + 8 * i, number, true);
  });
const get = ({ view, at }: RowBytes, column: number): number => view.getFloat64(at + 8 * column, true);
const part = ({ bytes, at }: RowBytes, from: number, length: number): Uint8Array =>
  bytes.slice(at + from, at + from + length);

/** Every row of a chunk, one at a time: all at once would hold the thread. */
function* read<T>(kind: RowKind, bytes: Uint8Array, readRow: (row: RowBytes) => T): Generator<T> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += ROW_BYTES[kind]) yield readRow({ view, bytes, at });
}

export const putFrame = (row: RowBytes, { firstSequence, firstTimeMs, position }: FramePlace): void =>
  put(row, firstSequence, firstTimeMs, position);
export const framesIn = (bytes: Uint8Array): Generator<FramePlace> =>
  read('frames', bytes, (row) => ({ firstSequence: get(row, 0), firstTimeMs: get(row, 1), position: get(row, 2) }));

type SequencedChange = LeafChange & { readonly sequence: number };

export function putLeafChange(row: RowBytes, { sequence, index, leaves, oldLeaf }: SequencedChange): void {
  put(row, sequence, index, leaves);
  row.bytes.set(oldLeaf, row.at + 24);
}
export const leafChangesIn = (bytes: Uint8Array): Generator<SequencedChange> =>
  read('leafChanges', bytes, (row) => ({
    sequence: get(row, 0),
    index: get(row, 1),
    leaves: get(row, 2),
    oldLeaf: part(row, 24, HASH_BYTES),
  }));

export function putRequest(row: RowBytes, [key, { recordId, sequence }]: [string, AppliedRequest]): void {
  row.bytes.set(Buffer.from(key, 'latin1'), row.at);
  put({ ...row, at: row.at + REQUEST_ID_BYTES }, recordId, sequence);
}
export const requestsIn = (bytes: Uint8Array): Generator<[string, AppliedRequest]> =>
  read('requests', bytes, (row) => [
    requestKey(part(row, 0, REQUEST_ID_BYTES)),
    { recordId: get(row, 2), sequence: get(row, 3) },
  ]);

/** Null: what had the id was deleted. */
export const putNode = (row: RowBytes, node: GraphNode | null): void =>
  put(row, node?.kind ?? GONE, node?.recordId ?? NO_RECORD);
export const nodesIn = (bytes: Uint8Array): Generator<Omit<GraphNode, 'id'> | null> =>
  read('nodes', bytes, (row) => {
    const recordId = get(row, 1);
    return get(row, 0) === GONE ? null : { kind: get(row, 0), recordId: recordId === NO_RECORD ? null : recordId };
  });

export const putEdge = (row: RowBytes, edge: GraphEdge | null): void =>
  put(row, edge?.kind ?? GONE, edge?.from ?? 0, edge?.to ?? 0);
export const edgesIn = (bytes: Uint8Array): Generator<Omit<GraphEdge, 'id'> | null> =>
  read('edges', bytes, (row) =>
    get(row, 0) === GONE ? null : { kind: get(row, 0), from: get(row, 1), to: get(row, 2) },
  );

interface PastRoot {
  readonly sequence: number;
  readonly root: Uint8Array;
}

export function putGraphRoot(row: RowBytes, { sequence, root }: PastRoot): void {
  put(row, sequence);
  row.bytes.set(root, row.at + 8);
}
export const graphRootsIn = (bytes: Uint8Array): Generator<PastRoot> =>
  read('graphRoots', bytes, (row) => ({ sequence: get(row, 0), root: part(row, 8, HASH_BYTES) }));

export function putEncrypted(row: RowBytes, record: EncryptedRecord): void {
  const { id, tag, insertedMs, sequence, isTombstoned, keyId, contentHash } = record;
  put(row, id, tag, insertedMs, sequence, isTombstoned ? RECORD_STATE.tombstoned : RECORD_STATE.live);
  row.bytes.set(Buffer.from(keyId, 'hex'), row.at + 40);
  row.bytes.set(Buffer.from(contentHash, 'latin1'), row.at + 40 + KEY_ID_BYTES);
}
export const encryptedIn = (bytes: Uint8Array): Generator<EncryptedRecord> =>
  read('encrypted', bytes, (row) => ({
    id: get(row, 0),
    tag: get(row, 1),
    insertedMs: get(row, 2),
    sequence: get(row, 3),
    isTombstoned: get(row, 4) === RECORD_STATE.tombstoned,
    keyId: toHex(part(row, 40, KEY_ID_BYTES)),
    contentHash: Buffer.from(part(row, 40 + KEY_ID_BYTES, HASH_BYTES)).toString('latin1'),
  }));

export const putShredded = ({ bytes, at }: RowBytes, keyId: string): void => bytes.set(Buffer.from(keyId, 'hex'), at);
export const shreddedIn = (bytes: Uint8Array): Generator<string> =>
  read('shredded', bytes, (row) => toHex(part(row, 0, KEY_ID_BYTES)));

export const putChainHead = ({ bytes, at }: RowBytes, head: Uint8Array): void => bytes.set(head, at);

/** Numbers of no meaning here. */
export const putNumber = (row: RowBytes, number: number): void => put(row, number);
export const numbersIn = (bytes: Uint8Array): Generator<number> => read('lifetimes', bytes, (row) => get(row, 0));
