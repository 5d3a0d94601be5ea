/** Rows as the body of a batch of inserts, or of upserts. */
import { hash, toHex } from '../../shared/hashing/hash.js';
import { REQUEST_ID_BYTES } from '../../shared/limits.js';
import type { Row } from './row.js';
import { vectorsText } from './vectorText.js';

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
  const { buffer, byteOffset, byteLength } = row.vector;
  const message = Buffer.concat([head, new Uint8Array(buffer, byteOffset, byteLength)]);
  return toHex(hash(message).subarray(0, REQUEST_ID_BYTES));
}

/** Text of JSON, in UTF-8. */
export function batchBody(collection: string, source: string, rows: readonly NumberedRow[]): Buffer {
  const metadata = rows.map(({ row }) => row.metadata);
  const texts = rows.map(({ row }) => row.text);
  const tags = rows.map(({ row }) => row.tag);
  const externalIds = rows.flatMap(({ row }) => row.externalId ?? []);
  const fields = {
    collection,
    request_ids: rows.map((row) => requestIdOf(source, row)),
    ...(metadata.some((item) => item !== null) && { metadata }),
    ...(texts.some((item) => item !== null) && { texts }),
    ...(tags.some((tag) => tag !== 0) && { tags }),
    ...(externalIds.length > 0 && { external_ids: externalIds }),
  };
  const begin = `${JSON.stringify(fields).slice(0, -1)},"batch":`;
  return Buffer.concat([Buffer.from(begin, 'utf8'), vectorsText(rows.map(({ row }) => row.vector)), Buffer.from('}')]);
}
