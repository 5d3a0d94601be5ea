/** Decodes events of the log. Byte fields are views of the log's bytes. */
import type { Actor } from './actor.js';
import { Reading } from './reading.js';

interface Dated {
  readonly sequence: bigint;
  readonly timeMs: bigint;
}

/** An event of the graph. `recordId` 0: no linked record. */
export type GraphEvent =
  | { readonly type: 'add node'; readonly nodeId: bigint; readonly recordId: bigint; readonly kind: number }
  | { readonly type: 'delete node'; readonly nodeId: bigint }
  | {
      readonly type: 'add edge';
      readonly edgeId: bigint;
      readonly from: bigint;
      readonly to: bigint;
      readonly kind: number;
    }
  | { readonly type: 'delete edge'; readonly edgeId: bigint };

/** The languages of texts in version 1. */
const LANGUAGES: ReadonlySet<string> = new Set([
  ...['arabic', 'danish', 'dutch'],
  ...['english', 'finnish', 'french'],
  ...['german', 'greek', 'hungarian'],
  ...['italian', 'norwegian', 'portuguese'],
  ...['romanian', 'russian', 'spanish'],
  ...['swedish', 'tamil', 'turkish'],
]);

export interface TextSettings {
  readonly language: string;
  readonly version: number;
}

export interface Genesis extends Dated {
  readonly type: 'genesis';
  readonly collectionId: bigint;
  readonly dimension: number;
  /** Whether vectors are divided by their length. */
  readonly normalise: boolean;
  /** The language by which words are found, and the version of its rules; null: words are found as they are written. */
  readonly text: TextSettings | null;
  readonly project: string;
  readonly name: string;
}

/** A genesis with the actor beside it; null for an event of version 1. */
export interface LogGenesis extends Genesis {
  readonly actor: Actor | null;
}

export interface Insert extends Dated {
  /** `replace`: a live record gets new content. */
  readonly type: 'insert' | 'replace';
  readonly recordId: bigint;
  readonly tag: bigint;
  readonly requestId: Uint8Array | null;
  readonly vector: Uint8Array;
  readonly metadata: Uint8Array | null;
  readonly text: Uint8Array | null;
  readonly externalId: Uint8Array | null;
  /** Null: it does not expire. */
  readonly expiresAtMs: bigint | null;
}

export interface InsertEncrypted extends Dated {
  readonly type: 'insert encrypted';
  readonly recordId: bigint;
  readonly tag: bigint;
  readonly requestId: Uint8Array | null;
  readonly keyId: Uint8Array;
  readonly nonce: Uint8Array;
  readonly ciphertext: Uint8Array;
  /** Null: it does not expire. */
  readonly expiresAtMs: bigint | null;
}

/** The content of a record, which can be read only while its key exists. */
export interface UnderKey extends Dated {
  readonly type: 'insert under key' | 'replace under key' | 'update under key';
  readonly recordId: bigint;
  readonly requestId: Uint8Array | null;
  readonly keyId: Uint8Array;
  /** The hash of salt and content. */
  readonly commitment: Uint8Array;
  readonly nonce: Uint8Array;
  readonly ciphertext: Uint8Array;
  /** Null: it does not expire, or the event keeps the expiry. */
  readonly expiresAtMs: bigint | null;
}

export type LogEvent =
  | Genesis
  | Insert
  | InsertEncrypted
  | UnderKey
  | (Dated &
      (
        | { readonly type: 'soft delete' | 'delete'; readonly recordId: bigint }
        | { readonly type: 'delete many'; readonly requestId: Uint8Array; readonly deleted: number }
        | { readonly type: 'update metadata'; readonly recordId: bigint; readonly metadata: Uint8Array }
        | { readonly type: 'shred key'; readonly keyId: Uint8Array }
        /** `audit`: 0 off, 1 on, 2 with requests. `retentionDays`: 0 forever. */
        | { readonly type: 'audit reads'; readonly audit: number; readonly retentionDays: number }
        | GraphEvent
      ));

/** The last instant of a date in ECMAScript, in the year 275760. */
const LAST_DATE_MS = 8_640_000_000_000_000n;
const NODE_KINDS = 7;
const EDGE_KINDS = 9;
const READ_AUDITS = 3;
const RETENTION_DAYS_MAX = 36_500;
const KEY_ID_BYTES = 16;
const REQUEST_ID_BYTES = 16;
const NONCE_BYTES = 12;
const GCM_TAG_BYTES = 16;
const HASH_BYTES = 32;
const EXTERNAL_ID_MAX_BYTES = 256;

/** Throws Refused if the bytes are not exactly one event of version 1 or 2. Its actor is beside it. */
export function readEvent(bytes: Uint8Array, what: string): LogEvent {
  const reading = new Reading(bytes, what);
  const version = reading.u8();
  if (version !== 1 && version !== 2) reading.fail(`has version ${version}`);
  const type = reading.u8();
  reading.zeros(6);
  const dated = { sequence: reading.u64(), timeMs: reading.u64() };
  if (dated.timeMs > LAST_DATE_MS) reading.fail('has a time that no date can be');
  if ((type === 1) !== (dated.sequence === 0n))
    reading.fail('is a genesis out of place, or is in the place of the genesis');
  const event = readPayload(type, dated, reading);
  reading.end();
  return event;
}

function readPayload(type: number, dated: Dated, reading: Reading): LogEvent {
  switch (type) {
    case 1:
      return readGenesis(dated, reading);
    case 2:
      return readInsert('insert', dated, reading);
    case 3:
      return { type: 'soft delete', ...dated, recordId: readId(reading) };
    case 4:
      return { type: 'delete', ...dated, recordId: readId(reading) };
    case 5: {
      const recordId = readId(reading);
      const length = reading.u32();
      reading.zeros(4);
      return { type: 'update metadata', ...dated, recordId, metadata: reading.take(length) };
    }
    case 6:
      return readInsertEncrypted(dated, reading);
    case 7:
      return { type: 'shred key', ...dated, keyId: reading.take(KEY_ID_BYTES) };
    case 8: {
      const nodeId = readId(reading);
      return { type: 'add node', ...dated, nodeId, recordId: reading.u64(), kind: readKind(reading, NODE_KINDS) };
    }
    case 9:
      return { type: 'delete node', ...dated, nodeId: readId(reading) };
    case 10: {
      const [edgeId, from, to] = [readId(reading), readId(reading), readId(reading)];
      return { type: 'add edge', ...dated, edgeId, from, to, kind: readKind(reading, EDGE_KINDS) };
    }
    case 11:
      return { type: 'delete edge', ...dated, edgeId: readId(reading) };
    case 12: {
      const event = readInsert('replace', dated, reading);
      if (event.externalId === null) reading.fail('replaces a record and names no external id');
      return event;
    }
    case 13: {
      const requestId = reading.take(REQUEST_ID_BYTES);
      const deleted = reading.u32();
      if (deleted === 0) reading.fail('ends no deletion');
      reading.zeros(4);
      return { type: 'delete many', ...dated, requestId, deleted };
    }
    case 14:
      return readAudit(dated, reading);
    case 15:
      return readUnderKey('insert under key', dated, reading);
    case 16:
      return readUnderKey('replace under key', dated, reading);
    case 17:
      return readUnderKey('update under key', dated, reading);
    default:
      return reading.fail(`has type ${type}`);
  }
}

function readAudit(dated: Dated, reading: Reading): LogEvent {
  const audit = reading.u8();
  if (audit >= READ_AUDITS) reading.fail(`has kind ${audit}`);
  reading.zeros(3);
  const retentionDays = reading.u32();
  if (retentionDays > RETENTION_DAYS_MAX) reading.fail(`keeps entries for ${retentionDays} days`);
  return { type: 'audit reads', ...dated, audit, retentionDays };
}

function readGenesis(dated: Dated, reading: Reading): Genesis {
  const collectionId = reading.u64();
  const dimension = readDimension(reading);
  const metric = reading.u8();
  if (metric !== 1) reading.fail(`has metric ${metric}`);
  const projectLength = reading.u8();
  const nameLength = reading.u8();
  if (projectLength === 0 || nameLength === 0) reading.fail('has no project or no name');
  const flags = reading.u8();
  if (flags > 3) reading.fail(`has flags ${flags}`);
  const project = reading.utf8(projectLength);
  const name = reading.utf8(nameLength);
  const text = (flags & 2) === 0 ? null : readText(reading);
  return { type: 'genesis', ...dated, collectionId, dimension, normalise: (flags & 1) === 1, text, project, name };
}

function readText(reading: Reading): TextSettings {
  const version = reading.u8();
  const language = reading.utf8(reading.u8());
  if (version !== 1 || !LANGUAGES.has(language)) reading.fail(`has texts in ${language}, version ${version}`);
  return { language, version };
}

function readInsert(type: Insert['type'], dated: Dated, reading: Reading): Insert {
  const recordId = readId(reading);
  const tag = reading.u64();
  const requestId = reading.take(16);
  const flags = reading.u8();
  if (flags > 31) reading.fail(`has flags ${flags}`);
  reading.zeros(1);
  const externalIdLength = reading.u16();
  if (externalIdLength > EXTERNAL_ID_MAX_BYTES) reading.fail(`has an external id of ${externalIdLength} bytes`);
  const metadataLength = reading.u32();
  const textLength = reading.u32();
  const vector = reading.take(4 * readDimension(reading));
  const metadata = reading.take(metadataLength);
  const text = reading.utf8Bytes(textLength);
  const externalId = given(reading.utf8Bytes(externalIdLength), flags & 8, reading);
  if (externalId?.length === 0) reading.fail('has an empty external id');
  const expiresAtMs = readExpiry(flags, reading);
  const values = { type, ...dated, recordId, tag, vector, externalId, expiresAtMs } as const;
  return {
    ...values,
    requestId: givenRequestId(requestId, flags & 1, reading),
    metadata: given(metadata, flags & 2, reading),
    text: given(text, flags & 4, reading),
  };
}

function readInsertEncrypted(dated: Dated, reading: Reading): InsertEncrypted {
  const recordId = readId(reading);
  const tag = reading.u64();
  const requestId = reading.take(16);
  const flags = reading.u8();
  if ((flags & ~17) !== 0) reading.fail(`has flags ${flags}`);
  reading.zeros(3);
  const ciphertextLength = reading.u32();
  if (ciphertextLength < GCM_TAG_BYTES) reading.fail('has a ciphertext without a tag');
  const keyId = reading.take(KEY_ID_BYTES);
  const nonce = reading.take(NONCE_BYTES);
  reading.zeros(4);
  return {
    type: 'insert encrypted',
    ...dated,
    recordId,
    tag,
    requestId: givenRequestId(requestId, flags & 1, reading),
    keyId,
    nonce,
    ciphertext: reading.take(ciphertextLength),
    expiresAtMs: readExpiry(flags, reading),
  };
}

/** Reads the last field of an insert, which is there if flag 16 is set. */
function readExpiry(flags: number, reading: Reading): bigint | null {
  if ((flags & 16) === 0) return null;
  const expiresAtMs = reading.u64();
  if (expiresAtMs === 0n || expiresAtMs > LAST_DATE_MS) reading.fail('has an expiry that no date can be');
  return expiresAtMs;
}

function readUnderKey(type: UnderKey['type'], dated: Dated, reading: Reading): UnderKey {
  const recordId = readId(reading);
  reading.zeros(8);
  const requestId = reading.take(16);
  const flags = reading.u8();
  if ((flags & ~(type === 'update under key' ? 1 : 17)) !== 0) reading.fail(`has flags ${flags}`);
  reading.zeros(3);
  const ciphertextLength = reading.u32();
  if (ciphertextLength < GCM_TAG_BYTES) reading.fail('has a ciphertext without a tag');
  const keyId = reading.take(KEY_ID_BYTES);
  const nonce = reading.take(NONCE_BYTES);
  reading.zeros(4);
  const commitment = reading.take(HASH_BYTES);
  const ciphertext = reading.take(ciphertextLength);
  const expiresAtMs = readExpiry(flags, reading);
  const known = givenRequestId(requestId, flags & 1, reading);
  return { type, ...dated, recordId, requestId: known, keyId, commitment, nonce, ciphertext, expiresAtMs };
}

function given(field: Uint8Array, flag: number, reading: Reading): Uint8Array | null {
  if (flag === 0 && field.length > 0) reading.fail('has a field without its flag');
  return flag === 0 ? null : field;
}

/** Its length is fixed: without its flag it is zeros. */
function givenRequestId(field: Uint8Array, flag: number, reading: Reading): Uint8Array | null {
  if (flag === 0 && field.some((byte) => byte !== 0)) reading.fail('has a request id without its flag');
  return flag === 0 ? null : field;
}

function readId(reading: Reading): bigint {
  const id = reading.u64();
  if (id === 0n) reading.fail('names id 0, which does not exist');
  return id;
}

function readKind(reading: Reading, kinds: number): number {
  const kind = reading.u8();
  if (kind >= kinds) reading.fail(`has kind ${kind}`);
  reading.zeros(7);
  return kind;
}

function readDimension(reading: Reading): number {
  const dimension = reading.u32();
  if (dimension < 1 || dimension > 32_768) reading.fail(`has dimension ${dimension}`);
  return dimension;
}
