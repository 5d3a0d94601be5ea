/** The hits of one collection: decoded from the bytes of an answer, and written as JSON without an object for each. */
import type { SearchResult } from '../../shared/protocol/calls.js';
import type { RecordFields } from '../../shared/protocol/records.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import type { JsonWriter } from '../http/jsonWriter.js';
import { fieldsJson } from './recordJson.js';

/** About a tenth of a millisecond. */
const HITS_PER_STEP = 64;

/** Best first: arrays of one length. */
export interface DecodedHits {
  readonly ids: Float64Array;
  readonly scores: Float64Array;
  /** With decay. */
  readonly aged?: { readonly factors: Float64Array; readonly agesSecs: Float64Array };
  /** With the graph; −1: no seed is within reach. */
  readonly hops?: Int32Array;
  /** With groups: for each hit the place of its value in `values`, which are JSON. */
  readonly groups?: { readonly of: Int32Array; readonly values: readonly string[] };
  readonly fields?: RecordFields;
}

export function decodeHits(result: SearchResult): DecodedHits {
  const { ids, scores, factors, agesSecs, hops, groups, groupValues, fields } = result;
  return {
    ids: float64sOf(ids),
    scores: float64sOf(scores),
    ...(factors === undefined || agesSecs === undefined
      ? {}
      : { aged: { factors: float64sOf(factors), agesSecs: float64sOf(agesSecs) } }),
    ...(hops === undefined ? {} : { hops: new Int32Array(aligned(hops)) }),
    ...(groups === undefined || groupValues === undefined
      ? {}
      : { groups: { of: new Int32Array(aligned(groups)), values: groupValues } }),
    ...(fields === undefined ? {} : { fields }),
  };
}

/** The float64 numbers of a result; little-endian, as every CPU that the kernel runs on. */
export const float64sOf = (bytes: Uint8Array): Float64Array => new Float64Array(aligned(bytes));

/** A copy: the bytes of a message may begin at any offset. */
const aligned = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

/** Writes `SearchHit`s, separated by commas. */
export function* writeHits(writer: JsonWriter, hits: DecodedHits): Steps<void> {
  for (let i = 0; i < hits.ids.length; i++) {
    writer.write(`${i === 0 ? '{' : ',{'}${hitFields(hits, i)}}`);
    if (isStepEnd(hits, i)) yield;
  }
}

/** Whether hit `i` is the last of its step. One with fields may take a step by itself. */
export const isStepEnd = ({ fields }: DecodedHits, i: number): boolean =>
  fields !== undefined || i % HITS_PER_STEP === HITS_PER_STEP - 1;

/** The members of hit `i`. Numbers print in JSON as they do in a string. */
export function hitFields({ ids, scores, aged, hops, groups, fields }: DecodedHits, i: number): string {
  const ages = aged === undefined ? '' : `,"decay_factor":${aged.factors[i]},"age_secs":${aged.agesSecs[i]}`;
  const distance = hops === undefined ? '' : `,"graph_distance":${hops[i]! < 0 ? null : hops[i]}`;
  const group = groups === undefined ? '' : `,"group":${groups.values[groups.of[i]!]}`;
  const carried = fields === undefined ? '' : fieldsJson(fields, i);
  return `"id":${ids[i]},"score":${scores[i]}${ages}${distance}${group}${carried}`;
}
