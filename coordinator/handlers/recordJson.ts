/** Writes the JSON of the fields of records and hits, for all endpoints. */
import { dequantise, type Scale } from '../../shared/fixedPoint.js';
import type { RecordFields } from '../../shared/protocol/records.js';
import { shownMetadata } from '../body/json.js';

/** The requested members of record `i`, and its external id if it has one, each after a comma. `scale`: of its vector. */
export function fieldsJson({ externalIds, metadata, texts, vectors }: RecordFields, i: number, scale: Scale): string {
  let members = '';
  if (externalIds?.[i] != null) members += `,"external_id":${JSON.stringify(externalIds[i])}`;
  if (metadata !== undefined) members += `,"metadata":${JSON.stringify(shownMetadata(metadata[i]!))}`;
  if (texts !== undefined) members += `,"text":${textJson(texts[i]!)}`;
  if (vectors !== undefined) members += `,"vector":${JSON.stringify(dequantise(vectors[i]!, scale))}`;
  return members;
}

const textJson = (utf8: Uint8Array | null): string => (utf8 === null ? 'null' : JSON.stringify(utf8Text(utf8)));

export const utf8Text = (utf8: Uint8Array): string =>
  Buffer.from(utf8.buffer, utf8.byteOffset, utf8.length).toString('utf8');
