/**
 * Event bytes, version 1. All integers are little-endian; every byte that is not named is zero.
 *
 *   header          0 u8 version | 1 u8 type | 8 u64 sequence | 16 u64 time_ms | 24 payload
 *   genesis         24 u64 collection_id | 32 u32 dimension | 36 u8 metric (1 squared_l2) | 37 u8 project length |
 *                   38 u8 name length | 40 project utf8 | name utf8
 *   insert          24 u64 record_id | 32 u64 tag | 40 request id (16) | 56 u8 flags (1 request id, 2 metadata, 4 text) |
 *                   60 u32 metadata length | 64 u32 text length | 68 u32 dimension | 72 i32 × dimension |
 *                   metadata | text utf8
 *   soft delete     24 u64 record_id
 *   delete          24 u64 record_id
 *   insert encrypted 24 u64 record_id | 32 u64 tag | 40 request id (16) | 56 u8 flags (1 request id) |
 *                   60 u32 ciphertext length, at least 16 | 64 key id (16) | 80 nonce (12) | 96 ciphertext, its
 *                   tag (16) included
 *   shred key       24 key id (16)
 *   update metadata 24 u64 record_id | 32 u32 metadata length | 40 metadata
 *   add node        24 u64 node_id | 32 u64 record_id (0: none) | 40 u8 kind | 48 end
 *   delete node     24 u64 node_id
 *   add edge        24 u64 edge_id | 32 u64 from | 40 u64 to | 48 u8 kind | 56 end
 *   delete edge     24 u64 edge_id
 */
import { unreachable } from '../errors.js';
import type { Event } from './event.js';

export const EVENT_VERSION = 1;

export const EVENT_TYPE = {
  genesis: 1,
  insert: 2,
  softDelete: 3,
  delete: 4,
  updateMetadata: 5,
  insertEncrypted: 6,
  shredKey: 7,
  addNode: 8,
  deleteNode: 9,
  addEdge: 10,
  deleteEdge: 11,
} as const;

export const METRIC_SQUARED_L2 = 1;
export const FLAG = { requestId: 1, metadata: 2, text: 4 } as const;

/** Where the payload begins. */
export const PAYLOAD_AT = 24;

export const GENESIS = {
  collectionId: 24,
  dimension: 32,
  metric: 36,
  projectLength: 37,
  nameLength: 38,
  project: 40,
} as const;

export const INSERT = {
  recordId: 24,
  tag: 32,
  requestId: 40,
  flags: 56,
  metadataLength: 60,
  textLength: 64,
  dimension: 68,
  vector: 72,
} as const;

/** Of a record, a node or an edge. */
export const DELETION = { id: 24, end: 32 } as const;
export const UPDATE = { recordId: 24, metadataLength: 32, metadata: 40 } as const;
export const NODE = { nodeId: 24, recordId: 32, kind: 40, end: 48 } as const;
export const EDGE = { edgeId: 24, from: 32, to: 40, kind: 48, end: 56 } as const;

export const INSERT_ENCRYPTED = {
  recordId: 24,
  tag: 32,
  requestId: 40,
  flags: 56,
  ciphertextLength: 60,
  keyId: 64,
  nonce: 80,
  ciphertext: 96,
} as const;
export const SHRED_KEY = { keyId: 24, end: 40 } as const;

/** An event is shorter than this, so that the last byte of its length in a frame is zero (see `chain.ts`). */
export const EVENT_END_BYTES = 2 ** 24;

/** Encoded size of an insert in bytes, from the sizes of what it carries. */
export const insertSizeBytes = (vectorBytes: number, metadataBytes: number, textBytes: number): number =>
  INSERT.vector + vectorBytes + metadataBytes + textBytes;

export const insertEncryptedSizeBytes = (ciphertextBytes: number): number =>
  INSERT_ENCRYPTED.ciphertext + ciphertextBytes;

export const updateMetadataSizeBytes = (metadataBytes: number): number => UPDATE.metadata + metadataBytes;

/** Of a record, hidden or for good, of a node or of an edge. */
export const DELETION_SIZE_BYTES = DELETION.end;

export function eventSizeBytes(event: Event): number {
  switch (event.type) {
    case 'genesis':
      return GENESIS.project + Buffer.byteLength(event.project) + Buffer.byteLength(event.name);
    case 'insert':
      return insertSizeBytes(event.vector.length, event.metadata?.length ?? 0, event.text?.length ?? 0);
    case 'softDelete':
    case 'delete':
    case 'deleteNode':
    case 'deleteEdge':
      return DELETION_SIZE_BYTES;
    case 'updateMetadata':
      return updateMetadataSizeBytes(event.metadata.length);
    case 'insertEncrypted':
      return insertEncryptedSizeBytes(event.ciphertext.length);
    case 'shredKey':
      return SHRED_KEY.end;
    case 'addNode':
      return NODE.end;
    case 'addEdge':
      return EDGE.end;
    default:
      return unreachable(event);
  }
}
