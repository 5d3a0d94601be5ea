/**
 * Event bytes. All integers are little-endian; every byte that is not named is zero. An event of version 2 has an actor beside
 * it; otherwise both versions are alike.
 *
 * ```text
 * header          0 u8 version | 1 u8 type | 8 u64 sequence | 16 u64 time_ms | 24 payload
 * genesis         24 u64 collection_id | 32 u32 dimension | 36 u8 metric (1 squared_l2) | 37 u8 project length |
 *                 38 u8 name length | 39 u8 flags (1 normalise, 2 text) | 40 project utf8 | name utf8 |
 *                 with text: u8 language version | u8 language length | language utf8
 * insert          24 u64 record_id | 32 u64 tag | 40 request id (16) | 56 u8 flags (1 request id, 2 metadata, 4 text,
 *                 8 external id, 16 expiry) | 58 u16 external id length | 60 u32 metadata length | 64 u32 text length |
 *                 68 u32 dimension | 72 i32 × dimension | metadata | text utf8 | external id utf8 |
 *                 with an expiry: u64 expires_at_ms, at least 1
 * replace         like insert, always with an external id
 * soft delete     24 u64 record_id
 * delete          24 u64 record_id
 * insert encrypted 24 u64 record_id | 32 u64 tag | 40 request id (16) | 56 u8 flags (1 request id, 16 expiry) |
 *                 60 u32 ciphertext length, at least 16 | 64 key id (16) | 80 nonce (12) | 96 ciphertext, its
 *                 tag (16) included | with an expiry: u64 expires_at_ms, at least 1
 * insert under key 24 u64 record_id | 40 request id (16) | 56 u8 flags (1 request id, 16 expiry) |
 *                 60 u32 ciphertext length | 64 key id (16) | 80 nonce (12) | 96 commitment (32) | 128 ciphertext, its
 *                 tag (16) included | with an expiry: u64 expires_at_ms, at least 1
 * replace under key like insert under key
 * update under key like insert under key, always without an expiry
 * shred key       24 key id (16)
 * update metadata 24 u64 record_id | 32 u32 metadata length | 40 metadata
 * add node        24 u64 node_id | 32 u64 record_id (0: none) | 40 u8 kind | 48 end
 * delete node     24 u64 node_id
 * add edge        24 u64 edge_id | 32 u64 from | 40 u64 to | 48 u8 kind | 56 end
 * delete edge     24 u64 edge_id
 * delete many     24 request id (16) | 40 u32 deleted, at least 1 | 48 end
 * audit reads     24 u8 kind (0 off, 1 on, 2 with requests) | 28 u32 days for which entries are kept, 0 forever,
 *                 at most 36,500 | 32 end
 * ```
 */
import { ACCESS_RETENTION_DAYS_MAX } from '../limits.js';
import { EDGE_KINDS, NODE_KINDS } from '../model/graph.js';
import { READ_AUDITS } from '../model/readAudit.js';
import type { AuditReads, DeleteRecord, Event, Genesis, GraphEvent, Insert, Replace } from './event.js';

/** The versions of events with an actor and without one. */
export const EVENT_VERSION = 2;
export const EVENT_VERSION_WITHOUT_ACTOR = 1;

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
  replace: 12,
  deleteMany: 13,
  auditReads: 14,
  insertUnderKey: 15,
  replaceUnderKey: 16,
  updateUnderKey: 17,
} as const;

const TYPES: (Event['type'] | undefined)[] = [];
for (const [type, number] of Object.entries(EVENT_TYPE)) TYPES[number] = type as Event['type'];

/** The name of an event type; undefined for an unknown number. */
export const eventTypeOf = (number: number): Event['type'] | undefined => TYPES[number];

export const METRIC_SQUARED_L2 = 1;
/** In a genesis. */
export const CONFIG_FLAG = { normalise: 1, text: 2 } as const;
export const FLAG = { requestId: 1, metadata: 2, text: 4, externalId: 8, expiry: 16 } as const;

export const PAYLOAD_AT = 24;

export const GENESIS = {
  collectionId: 24,
  dimension: 32,
  metric: 36,
  projectLength: 37,
  nameLength: 38,
  flags: 39,
  project: 40,
} as const;

export const INSERT = {
  recordId: 24,
  tag: 32,
  requestId: 40,
  flags: 56,
  externalIdLength: 58,
  metadataLength: 60,
  textLength: 64,
  dimension: 68,
  vector: 72,
} as const;

export const UPDATE = { recordId: 24, metadataLength: 32, metadata: 40 } as const;

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
export const UNDER_KEY = {
  recordId: 24,
  requestId: 40,
  flags: 56,
  ciphertextLength: 60,
  keyId: 64,
  nonce: 80,
  commitment: 96,
  ciphertext: 128,
} as const;
export const SHRED_KEY = { keyId: 24, end: 40 } as const;
export const DELETE_MANY = { requestId: 24, deleted: 40, end: 48 } as const;

interface FixedLayout {
  /** u64 one after another from `PAYLOAD_AT` on. Null is written as 0 in an optional one. */
  readonly ids: readonly { readonly field: string; readonly what: string; readonly isOptional?: true }[];
  /** The names of its kinds: a u8 after the ids, filled up with zeros to 8 bytes. */
  readonly kinds?: readonly string[];
  /** A number up to `max` in the last 4 of the 8 bytes of the kind. */
  readonly number?: { readonly field: string; readonly max: number };
}

export type FixedEvent = DeleteRecord | GraphEvent | AuditReads;

/** Events of ids, and perhaps a kind. */
export const FIXED: Readonly<Record<FixedEvent['type'], FixedLayout>> = {
  softDelete: { ids: [{ field: 'recordId', what: 'record' }] },
  delete: { ids: [{ field: 'recordId', what: 'record' }] },
  addNode: {
    ids: [
      { field: 'nodeId', what: 'node' },
      { field: 'recordId', what: 'record', isOptional: true },
    ],
    kinds: NODE_KINDS,
  },
  deleteNode: { ids: [{ field: 'nodeId', what: 'node' }] },
  addEdge: {
    ids: [
      { field: 'edgeId', what: 'edge' },
      { field: 'from', what: 'node' },
      { field: 'to', what: 'node' },
    ],
    kinds: EDGE_KINDS,
  },
  deleteEdge: { ids: [{ field: 'edgeId', what: 'edge' }] },
  auditReads: { ids: [], kinds: READ_AUDITS, number: { field: 'retentionDays', max: ACCESS_RETENTION_DAYS_MAX } },
};

export const fixedSizeBytes = (type: FixedEvent['type']): number =>
  PAYLOAD_AT + 8 * FIXED[type].ids.length + (FIXED[type].kinds === undefined ? 0 : 8);

/** Bound of an event's length, so that the last byte of the length in a frame is zero (see `chain.ts`). */
export const EVENT_END_BYTES = 2 ** 24;

/** Bytes beside an event in a frame: the length of the event and, for version 2, that of its actor. */
export const BESIDE_EVENT_BYTES = 6;

/** The bytes of an expiry, after all other fields. */
export const EXPIRY_BYTES = 8;

export const expiryBytes = ({ expiresAtMs }: Pick<Insert, 'expiresAtMs'>): number =>
  expiresAtMs === undefined ? 0 : EXPIRY_BYTES;

/** Encoded size of an insert or a replacement, from the size of all its fields together. */
export const insertSizeBytes = (contentBytes: number): number => INSERT.vector + contentBytes;

/** The bytes of the fields of an insert or a replacement, except its expiry. */
export const contentBytes = ({
  vector,
  metadata,
  text,
  externalId,
}: Pick<Insert | Replace, 'vector' | 'metadata' | 'text' | 'externalId'>): number =>
  vector.length + (metadata?.length ?? 0) + (text?.length ?? 0) + (externalId?.length ?? 0);

export const insertEncryptedSizeBytes = (ciphertextBytes: number): number =>
  INSERT_ENCRYPTED.ciphertext + ciphertextBytes;

export const underKeySizeBytes = (ciphertextBytes: number): number => UNDER_KEY.ciphertext + ciphertextBytes;

export const updateMetadataSizeBytes = (metadataBytes: number): number => UPDATE.metadata + metadataBytes;

const textSizeBytes = ({ text }: Genesis): number => (text === undefined ? 0 : 2 + text.language.length);

export function eventSizeBytes(event: Event): number {
  switch (event.type) {
    case 'genesis':
      return GENESIS.project + Buffer.byteLength(event.project) + Buffer.byteLength(event.name) + textSizeBytes(event);
    case 'insert':
    case 'replace':
      return insertSizeBytes(contentBytes(event)) + expiryBytes(event);
    case 'updateMetadata':
      return updateMetadataSizeBytes(event.metadata.length);
    case 'insertEncrypted':
      return insertEncryptedSizeBytes(event.ciphertext.length) + expiryBytes(event);
    case 'insertUnderKey':
    case 'replaceUnderKey':
      return underKeySizeBytes(event.ciphertext.length) + expiryBytes(event);
    case 'updateUnderKey':
      return underKeySizeBytes(event.ciphertext.length);
    case 'shredKey':
      return SHRED_KEY.end;
    case 'deleteMany':
      return DELETE_MANY.end;
    default:
      return fixedSizeBytes(event.type);
  }
}
