/**
 * Rows as the body of a batch of inserts, or of upserts: msgpack, whose vectors the service takes as they are. As JSON they would
 * cost both sides more than all else of a load.
 */
import { pack } from 'msgpackr';
import { hash, toHex } from '../../shared/hashing/hash.js';
import { REQUEST_ID_BYTES } from '../../shared/limits.js';
import type { Row } from './row.js';

/** A row with its place in the source. */
export interface NumberedRow {
  readonly number: number;
  readonly row: Row;
}

/** A row's request id, made of its place and of what it holds: sent again it makes no second record. */
function requestIdOf(source: string, { number, row }: NumberedRow): string {
  const { text, metadata, tag, externalId } = row;
  const named = tag === 0 && externalId === null ? [] : [tag, externalId];
  const head = Buffer.from(JSON.stringify([source, number, text, metadata, ...named]), 'utf8');
  const message = Buffer.concat([head, bytesOf(row.vector)]);
  return toHex(hash(message).subarray(0, REQUEST_ID_BYTES));
}

/** The bytes of a vector, which are those of Q16.16 on every machine that the service runs on: little-endian. */
const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array): Buffer => Buffer.from(buffer, byteOffset, byteLength);

export function batchBody(collection: string, source: string, rows: readonly NumberedRow[]): Uint8Array {
  const metadata = rows.map(({ row }) => row.metadata);
  const texts = rows.map(({ row }) => row.text);
  const tags = rows.map(({ row }) => row.tag);
  const externalIds = rows.flatMap(({ row }) => row.externalId ?? []);
  return pack({
    collection,
    request_ids: rows.map((row) => requestIdOf(source, row)),
    ...(metadata.some((item) => item !== null) && { metadata }),
    ...(texts.some((item) => item !== null) && { texts }),
    ...(tags.some((tag) => tag !== 0) && { tags }),
    ...(externalIds.length > 0 && { external_ids: externalIds }),
    batch_q16: rows.map(({ row }) => bytesOf(row.vector)),
  });
}
