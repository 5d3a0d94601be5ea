/**
 * The cursor that names a place in the order of records. It is
 *
 *   base64url(u8 version ‖ digest (16) ‖ u8 rank ‖ f64 id ‖ value).
 *
 * Its digest covers the order and all bytes after the digest, so a cursor of another order is refused. Numbers are
 * little-endian. A value is an f64 or UTF-16LE, and has at most 128 characters: see `shard/records/orderValues.ts`.
 */
import { textDigest } from '../hashing/mapKey.js';
import { type OrderPlace, RANK, type Rank, type RecordOrder } from '../model/recordOrder.js';

const VERSION = 1;
const DIGEST_BYTES = 16;
const HEAD_BYTES = 1 + DIGEST_BYTES;
const RANK_BYTES = 1;
const NUMBER_BYTES = 8;
const VALUE_AT = RANK_BYTES + NUMBER_BYTES;

export function cursorOf(place: OrderPlace, order: RecordOrder): string {
  const { rank, value, id } = place;
  const text = typeof value === 'string' ? Buffer.from(value, 'utf16le') : undefined;
  const payload = Buffer.alloc(VALUE_AT + (text?.length ?? NUMBER_BYTES));
  payload[0] = rank;
  payload.writeDoubleLE(id, RANK_BYTES);
  if (text === undefined) payload.writeDoubleLE(value as number, VALUE_AT);
  else payload.set(text, VALUE_AT);
  return Buffer.concat([Uint8Array.of(VERSION), digestOf(payload, order), payload]).toString('base64url');
}

/** Returns undefined for a text that is not a cursor of this order. */
export function placeAt(cursor: string, order: RecordOrder): OrderPlace | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  const payload = bytes.subarray(HEAD_BYTES);
  if (bytes[0] !== VERSION || payload.length < VALUE_AT || payload.length % 2 === 0) return undefined;
  if (!digestOf(payload, order).equals(bytes.subarray(1, HEAD_BYTES))) return undefined;
  const rank = payload[0]!;
  const isText = rank === RANK.date || rank === RANK.string;
  if (rank > RANK.missing || (!isText && payload.length !== VALUE_AT + NUMBER_BYTES)) return undefined;
  const value = isText ? payload.toString('utf16le', VALUE_AT) : payload.readDoubleLE(VALUE_AT);
  const place: OrderPlace = { rank: rank as Rank, value, id: payload.readDoubleLE(RANK_BYTES) };
  const isPlace = Number.isSafeInteger(place.id) && place.id >= 0 && !Number.isNaN(value);
  return isPlace && cursorOf(place, order) === cursor ? place : undefined;
}

const digestOf = (payload: Buffer, { path, isDescending }: RecordOrder): Buffer =>
  Buffer.from(textDigest(`${JSON.stringify([path, isDescending])}${payload.toString('latin1')}`), 'latin1');
