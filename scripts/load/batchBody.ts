/**
 * The body of a batch of inserts, or of upserts, in msgpack, whose vectors the service uses unchanged. Vectors in JSON would cost
 * both sides more than the rest of a load.
 */
import { pack } from 'msgpackr';
import { hashInto } from '../../shared/hashing/hash.js';
import { REQUEST_ID_BYTES } from '../../shared/limits.js';
import type { Row } from './row.js';

/** A row with its place in the source. */
export interface NumberedRow {
  readonly number: number;
  readonly row: Row;
}

/** Buffer for the text whose hash is a row's request id. */
let message = Buffer.alloc(16 * 1024);

/** A row's request id, made of its place, `load` and content, so that a row that is sent again makes no second record. */
function requestIdOf({ source, load }: Sent, { number, row }: NumberedRow): string {
  const { text, metadata, tag, externalId, expiresAt, keyId, vector } = row;
  const named = tag === 0 && externalId === null && load === '' ? [] : [tag, externalId, load];
  const expiry = expiresAt === undefined ? [] : [expiresAt];
  const key = keyId === undefined ? [] : [keyId];
  const head = JSON.stringify([source, number, text, metadata, ...named, ...expiry, ...key]);
  const bytes = vector instanceof Uint8Array ? vector : new Uint8Array(Float64Array.from(vector).buffer);
  const most = UTF8_BYTES_MAX * head.length + bytes.length;
  if (message.length < most) message = Buffer.alloc(2 * most);
  const headBytes = message.write(head, 'utf8');
  message.set(bytes, headBytes);
  hashInto(message.subarray(0, headBytes + bytes.length), message, 0);
  return message.toString('hex', 0, REQUEST_ID_BYTES);
}

/** UTF-8 bytes of one unit of a string. */
const UTF8_BYTES_MAX = 3;

/** Shared by the rows of one load. */
export interface Sent {
  readonly source: string;
  readonly load: string;
}

/** `isNormalised`: the collection divides vectors by their length. */
export function batchBody(
  collection: string,
  sent: Sent,
  rows: readonly NumberedRow[],
  isNormalised = false,
): Uint8Array {
  const metadata = rows.map(({ row }) => row.metadata);
  const texts = rows.map(({ row }) => row.text);
  const tags = rows.map(({ row }) => row.tag);
  const expiries = rows.map(({ row }) => row.expiresAt ?? null);
  const keyIds = rows.map(({ row }) => row.keyId ?? null);
  const externalIds = rows.flatMap(({ row }) => row.externalId ?? []);
  return pack({
    collection,
    request_ids: rows.map((row) => requestIdOf(sent, row)),
    ...(metadata.some((item) => item !== null) && { metadata }),
    ...(texts.some((item) => item !== null) && { texts }),
    ...(tags.some((tag) => tag !== 0) && { tags }),
    ...(expiries.some((expiry) => expiry !== null) && { expires_at: expiries }),
    ...(keyIds.some((keyId) => keyId !== null) && { key_ids: keyIds }),
    ...(externalIds.length > 0 && { external_ids: externalIds }),
    [isNormalised ? 'batch' : 'batch_q16']: rows.map(({ row }) => row.vector),
  });
}
