/** Writes the JSON of the fields of records and hits, for all endpoints. */
import { dequantise, type Scale } from '../../shared/fixedPoint.js';
import type { RecordFields } from '../../shared/protocol/records.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import { shownMetadata } from '../body/json.js';
import type { JsonWriter } from '../http/jsonWriter.js';

/** Components of a vector that are written in one step: about a third of a millisecond. */
const COMPONENTS_PER_STEP = 1_024;

/**
 * Writes the requested members of record `i`, and its external id if it has one, each after a comma. `scale`: of its vector.
 */
export function* writeFields(
  writer: JsonWriter,
  { externalIds, metadata, texts, vectors, changedBy, expiresAt, keyIds }: RecordFields,
  i: number,
  scale: Scale,
): Steps<void> {
  let members = '';
  if (externalIds?.[i] != null) members += `,"external_id":${JSON.stringify(externalIds[i])}`;
  if (metadata !== undefined) members += `,"metadata":${JSON.stringify(shownMetadata(metadata[i]!))}`;
  if (texts !== undefined) members += `,"text":${textJson(texts[i]!)}`;
  if (expiresAt !== undefined && float64At(expiresAt, i) > 0)
    members += `,"expires_at":${unixSeconds(float64At(expiresAt, i))}`;
  if (keyIds?.[i] != null) members += `,"key_id":"${keyIds[i]}"`;
  if (changedBy !== undefined) members += `,"log_index":${float64At(changedBy, i)}`;
  writer.write(members);
  if (vectors === undefined) return;
  writer.write(',"vector":');
  yield* writeVector(writer, vectors[i]!, scale);
}

/** Writes the components of a vector as an array. */
export function* writeVector(writer: JsonWriter, vector: Uint8Array, scale: Scale): Steps<void> {
  const stepBytes = 4 * COMPONENTS_PER_STEP;
  let start = '[';
  for (let from = 0; from < vector.length; from += stepBytes) {
    if (from > 0) yield;
    const components = JSON.stringify(dequantise(vector.subarray(from, from + stepBytes), scale));
    writer.write(start + components.slice(1, -1));
    start = ',';
  }
  writer.write(']');
}

/** Whole seconds, as the time was given or made. */
export const unixSeconds = (timeMs: number): number => Math.floor(timeMs / 1000);

const float64At = ({ buffer, byteOffset, length }: Uint8Array, i: number): number =>
  new DataView(buffer, byteOffset, length).getFloat64(8 * i, true);

const textJson = (utf8: Uint8Array | null): string => (utf8 === null ? 'null' : JSON.stringify(utf8Text(utf8)));

export const utf8Text = (utf8: Uint8Array): string =>
  Buffer.from(utf8.buffer, utf8.byteOffset, utf8.length).toString('utf8');
