/** The hits of one collection: decoded from the bytes of an answer, and written as JSON without an object for each. */
import { type Scale, shownDistances } from '../../shared/fixedPoint.js';
import type { SearchResult } from '../../shared/protocol/calls.js';
import type { RecordFields } from '../../shared/protocol/records.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import type { JsonWriter } from '../http/jsonWriter.js';
import { writeFields } from './recordJson.js';

/** Hits written in one step: about a tenth of a millisecond. */
const HITS_PER_STEP = 64;

/** The hits of an answer, best first, in arrays of one length. */
export interface DecodedHits {
  /** The scale of the collection. */
  readonly scale: Scale;
  readonly ids: Float64Array;
  /** Empty for a search of texts alone. */
  readonly scores: Float64Array;
  /** Present with decay. */
  readonly aged?: { readonly factors: Float64Array; readonly agesSecs: Float64Array } | undefined;
  /** BM25. Present if the search asks for it. */
  readonly textScores?: Float64Array | undefined;
  /** Present with a graph rerank; −1: no seed is within reach. */
  readonly hops?: Int32Array | undefined;
  /** Present with groups. `of`: for each hit, the place of its group's value in `values`; these are JSON. */
  readonly groups?: { readonly of: Int32Array; readonly values: readonly string[] } | undefined;
  readonly fields?: RecordFields | undefined;
}

export function decodeHits(result: SearchResult, scale: Scale): DecodedHits {
  const { ids, scores, factors, agesSecs, textScores, hops, groups, groupValues, fields } = result;
  return {
    scale,
    ids: float64sOf(ids),
    scores: shownDistances(float64sOf(scores), scale),
    aged: factors && agesSecs && { factors: float64sOf(factors), agesSecs: float64sOf(agesSecs) },
    textScores: textScores && float64sOf(textScores),
    hops: hops && viewOf(Int32Array, hops),
    groups: groups && groupValues && { of: viewOf(Int32Array, groups), values: groupValues },
    fields,
  };
}

/** The float64 numbers of a result; little-endian, like every CPU that the kernel runs on. */
export const float64sOf = (bytes: Uint8Array): Float64Array => viewOf(Float64Array, bytes);

/** Numbers in the memory of the bytes, which is the answer's own. A copy if they begin at an odd place of a message. */
function viewOf<A extends Float64Array | Int32Array>(
  type: { new (buffer: ArrayBufferLike, at?: number, length?: number): A; readonly BYTES_PER_ELEMENT: number },
  bytes: Uint8Array,
): A {
  const size = type.BYTES_PER_ELEMENT;
  if (bytes.byteOffset % size !== 0) return new type(new Uint8Array(bytes).buffer);
  return new type(bytes.buffer, bytes.byteOffset, bytes.length / size);
}

/** Writes `SearchHit`s, separated by commas. */
export function* writeHits(writer: JsonWriter, hits: DecodedHits): Steps<void> {
  for (let i = 0; i < hits.ids.length; i++) {
    writer.write(`${i === 0 ? '{' : ',{'}${hitJson(hits, i)}`);
    if (hits.fields !== undefined) yield* writeHitFields(writer, hits.fields, i, hits.scale);
    if (isStepEnd(hits, i)) yield;
  }
}

/** Whether hit `i` is the last of its step. A hit with fields takes a step by itself. */
export const isStepEnd = ({ fields }: DecodedHits, i: number): boolean =>
  fields !== undefined || i % HITS_PER_STEP === HITS_PER_STEP - 1;

/** Writes the fields of hit `i`, and its end. */
export function* writeHitFields(writer: JsonWriter, fields: RecordFields, i: number, scale: Scale): Steps<void> {
  yield* writeFields(writer, fields, i, scale);
  writer.write('}');
}

/** The JSON of hit `i` after the brace, up to its fields if it has some. A number in a template string is valid JSON. */
export function hitJson(hits: DecodedHits, i: number): string {
  const { scale, ids, scores, aged, textScores, hops, groups, fields } = hits;
  const end = fields === undefined ? '}' : '';
  if (scores.length === 0) return `"id":${ids[i]},"text_score":${textScores![i]}${end}`;
  const rest = scale === 'plain' && (aged ?? textScores ?? hops ?? groups) === undefined ? '' : restJson(hits, i);
  return `"id":${ids[i]},"score":${scores[i]}${rest}${end}`;
}

/** The members of hit `i` between its score and its fields. */
function restJson({ scale, scores, aged, textScores, hops, groups }: DecodedHits, i: number): string {
  const similarity = scale === 'unit' ? `,"similarity":${1 - scores[i]! / 2}` : '';
  const ages = aged === undefined ? '' : `,"decay_factor":${aged.factors[i]},"age_secs":${aged.agesSecs[i]}`;
  const matched = textScores === undefined ? '' : `,"text_score":${textScores[i]}`;
  const distance = hops === undefined ? '' : `,"graph_distance":${hops[i]! < 0 ? null : hops[i]}`;
  const group = groups === undefined ? '' : `,"group":${groups.values[groups.of[i]!]}`;
  return `${similarity}${ages}${matched}${distance}${group}`;
}
