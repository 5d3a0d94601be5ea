/** The values that a record should have, from a file: JSON with the fields of the insert that made it. */
import { type JsonObject, objectOf, wholeOf } from '../json.js';
import type { Proof } from '../receipt.js';
import type { RecordValues } from '../records.js';

const FIXED_ONE = 65_536;

/**
 * `values` (or `vector`), and optionally `tag`, `metadata` (bytes as numbers, a text, or an object that stands for its
 * JSON), `text`, `state` (`live` or `tombstoned`) and `inserted_ms`, which a change of the record does not tell; `deleted`
 * true: the record is deleted for good.
 */
export function recordValues(json: unknown, proof: Proof): RecordValues | 'deleted' {
  const record = objectOf(json, 'the record');
  if (record.deleted === true) return 'deleted';
  const state = record.state ?? 'live';
  if (state !== 'live' && state !== 'tombstoned') throw new Error('state is not live or tombstoned');
  if (proof.kind === 'change' && record.inserted_ms === undefined)
    throw new Error('inserted_ms is missing: the receipt of a change does not tell when the record was inserted');
  return {
    state,
    id: proof.recordId,
    tag: isAbsent(record.tag) ? 0n : wholeOf(record, 'tag'),
    insertedMs: record.inserted_ms === undefined ? proof.timeMs : wholeOf(record, 'inserted_ms'),
    vector: vectorOf(record.values ?? record.vector),
    metadata: metadataOf(record),
    text: isAbsent(record.text) ? null : Buffer.from(String(record.text)),
  };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** Each component as Q16.16, halves to the even one. */
function vectorOf(values: unknown): Buffer {
  if (!Array.isArray(values) || !values.every((value) => Number.isFinite(value)))
    throw new Error('values is not an array of numbers');
  const bytes = Buffer.alloc(4 * values.length);
  for (const [i, value] of (values as number[]).entries()) bytes.writeInt32LE(rounded(value * FIXED_ONE), 4 * i);
  return bytes;
}

function rounded(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

function metadataOf({ metadata }: JsonObject): Buffer | null {
  if (isAbsent(metadata)) return null;
  if (Array.isArray(metadata)) return Buffer.from(metadata as number[]);
  return Buffer.from(typeof metadata === 'string' ? metadata : JSON.stringify(metadata));
}
