/** Reads the expected values of a record from JSON with the fields of its insert. */
import { equal, fromHex, toUtf8 } from './bytes.js';
import { type JsonObject, objectOf, wholeOf } from './json.js';
import type { Proof } from './receipt.js';
import type { ClaimedRecord } from './receiptEvent.js';
import { leafOf, type RecordValues } from './records.js';
import { storedVectors } from './storedVector.js';

const REQUEST_ID_BYTES = 16;
const KEY_ID = /^[0-9a-f]{32}$/;
const SALT = /^[0-9a-f]{64}$/;

/** The fields of a record. All describe its content, except `collection` and `log_index`. */
const FIELDS = new Set([
  ...['values', 'vector', 'tag', 'metadata', 'text', 'external_id', 'request_id', 'state', 'inserted_ms', 'deleted'],
  ...['expires_at', 'id', 'collection', 'log_index', 'key_id', 'salt'],
]);

/**
 * Reads a record to compare with a receipt. Required: `values` (or `vector`). Optional: `tag`, `metadata`, `text`, `external_id`,
 * `request_id` (hex or bytes), `state` (`live` or `tombstoned`), and `expires_at` in unix seconds. Metadata is bytes as numbers, a
 * text, or an object, which means its JSON. A record under a key has `key_id` and `salt`. A change also needs `inserted_ms`, unless
 * it replaces the record. For a hard-deleted record `deleted` is true. `id` may be there, as in an answer, and is compared.
 * Throws an Error that names the field, also for an unknown one, which would not be compared.
 */
export function claimedRecord(json: unknown, proof: Proof): ClaimedRecord {
  const record = objectOf(json, 'the record');
  const unknown = Object.keys(record).find((name) => !FIELDS.has(name));
  if (unknown !== undefined)
    throw new Error(`${unknown} is not a field of a record: there are ${[...FIELDS].join(', ')}`);
  if (record.deleted === true) return { values: 'deleted', requestId: null };
  return { values: recordValues(record, proof), requestId: requestIdOf(record.request_id) };
}

function recordValues(record: JsonObject, proof: Proof): RecordValues {
  const state = record.state ?? 'live';
  if (state !== 'live' && state !== 'tombstoned') throw new Error('state is not live or tombstoned');
  // A replacement's time is that of its event, and only records with an external id are replaced.
  if (proof.kind === 'change' && record.inserted_ms === undefined && isAbsent(record.external_id))
    throw new Error('inserted_ms is missing: the receipt of a change does not contain the time of the insert');
  const others = {
    state,
    id: isAbsent(record.id) ? proof.recordId : wholeOf(record, 'id'),
    tag: isAbsent(record.tag) ? 0n : wholeOf(record, 'tag'),
    insertedMs: record.inserted_ms === undefined ? proof.timeMs : wholeOf(record, 'inserted_ms'),
    metadata: metadataOf(record),
    text: textOf(record.text, 'text'),
    externalId: textOf(record.external_id, 'external_id'),
    expiresAtMs: isAbsent(record.expires_at) ? null : 1000n * wholeOf(record, 'expires_at'),
    underKey: underKeyOf(record),
  } as const;
  return withVector(others, numbersOf(record.values ?? record.vector), proof);
}

/** The record with its vector in the stored form that the receipt proves; in the first form if it proves none. */
function withVector(others: Omit<RecordValues, 'vector'>, values: readonly number[], { newLeaf }: Proof): RecordValues {
  const forms = Array.from(storedVectors(values), (vector) => ({ ...others, vector }));
  return forms.find((form) => equal(leafOf(form), newLeaf)) ?? forms[0]!;
}

/** The content of a record under a key is only proven with the salt of its commitment. */
function underKeyOf({ key_id: keyId, salt }: JsonObject): RecordValues['underKey'] {
  if (isAbsent(keyId) && isAbsent(salt)) return undefined;
  if (typeof keyId !== 'string' || !KEY_ID.test(keyId)) throw new Error('key_id is not 32 lowercase hex digits');
  if (isAbsent(salt)) throw new Error('salt is missing: a record under a key is proven with it, read it by with=salt');
  if (typeof salt !== 'string' || !SALT.test(salt)) throw new Error('salt is not 64 lowercase hex digits');
  return { keyId: fromHex(keyId), salt: fromHex(salt) };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

function numbersOf(values: unknown): readonly number[] {
  if (!Array.isArray(values) || !values.every((value) => Number.isFinite(value)))
    throw new Error('values is not an array of numbers');
  return values as number[];
}

function metadataOf({ metadata }: JsonObject): Uint8Array | null {
  if (isAbsent(metadata)) return null;
  if (Array.isArray(metadata)) return bytesOf(metadata, 'metadata');
  if (typeof metadata === 'string') return utf8Of(metadata, 'metadata');
  return utf8Of(JSON.stringify(objectOf(metadata, 'metadata')), 'metadata');
}

function textOf(text: unknown, field: string): Uint8Array | null {
  if (isAbsent(text)) return null;
  if (typeof text !== 'string') throw new Error(`${field} is not a text`);
  return utf8Of(text, field);
}

function requestIdOf(id: unknown): Uint8Array | null {
  if (isAbsent(id)) return null;
  if (typeof id === 'string' && /^[0-9a-fA-F]{32}$/.test(id)) return fromHex(id);
  if (Array.isArray(id) && id.length === REQUEST_ID_BYTES) return bytesOf(id, 'request_id');
  throw new Error('request_id is not 32 hex digits, or 16 bytes');
}

/** Refuses numbers that a byte array would cut to a byte: another record could match. */
function bytesOf(numbers: readonly unknown[], field: string): Uint8Array {
  if (!numbers.every((byte) => Number.isInteger(byte) && (byte as number) >= 0 && (byte as number) <= 255))
    throw new Error(`${field} is not an array of bytes`);
  return Uint8Array.from(numbers as number[]);
}

/** Refuses a lone surrogate: it has no UTF-8 and would be replaced. */
function utf8Of(text: string, field: string): Uint8Array {
  if (/\p{Surrogate}/u.test(text)) throw new Error(`${field} is not Unicode`);
  return toUtf8(text);
}
