/** The records that a search found, and their form on the wire. */
import type { Results } from '../../shared/protocol/calls.js';
import type { RecordFields } from '../../shared/protocol/records.js';
import type { Hits } from '../kernel/scanScratch.js';

/** Records that were found, best first, in columns of equal length. `scores` is empty in a search by text alone. */
export interface Found extends Hits {
  /** Factors and ages; present with decay. */
  readonly aged?: { readonly factors: Float64Array; readonly agesSecs: Float64Array };
  /** BM25 of each hit; present if the call asks for it. */
  readonly textScores?: Float64Array;
  /** Hops to the nearest seed of the graph; −1 if no seed is within reach. Present with a graph. */
  readonly hops?: Int32Array;
  /** Group of each hit: the place of its value in `values`, which are canonical JSON. Present with groups. */
  readonly groups?: { readonly of: Int32Array; readonly values: readonly string[] };
}

/** Records with the requested fields. `takenBytes`: bytes that fields and groups take. */
export type FoundFields = Found & { readonly fields?: RecordFields; readonly takenBytes?: number };

/** Returns the distance by which a search without text and graph orders hit `i`. */
export const distanceOf = ({ scores, aged }: Found, i: number): number =>
  aged === undefined ? scores[i]! : scores[i]! / aged.factors[i]!;

/** Returns the hits at `places`, in that order, without their hops and groups. */
export function hitsAt({ ids, slots, scores, aged, textScores }: Found, places: Uint32Array): Found {
  const at = (column: Float64Array): Float64Array => floats(places.length, (i) => column[places[i]!]!);
  const hits = {
    ids: at(ids),
    slots: places.map((place) => slots[place]!),
    scores: scores.length > 0 ? at(scores) : scores,
  };
  const ages = aged && { factors: at(aged.factors), agesSecs: at(aged.agesSecs) };
  return {
    ...hits,
    ...(ages === undefined ? {} : { aged: ages }),
    ...(textScores === undefined ? {} : { textScores: at(textScores) }),
  };
}

/** Makes an array of numbers, by a loop: `Float64Array.from` and `map` take ten times as long. */
export function floats(length: number, value: (i: number) => number): Float64Array {
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) values[i] = value(i);
  return values;
}

type Draft = { -readonly [Key in keyof Results['search']]: Results['search'][Key] };

/** Makes the answer, with only the columns that were found. Objects are not spread, since most searches have no options. */
export function resultOf({ ids, scores, aged, textScores, hops, groups, fields }: FoundFields): Results['search'] {
  const result: Draft = { ids: bytesOf(ids), scores: bytesOf(scores) };
  if (aged !== undefined) {
    result.factors = bytesOf(aged.factors);
    result.agesSecs = bytesOf(aged.agesSecs);
  }
  if (textScores !== undefined) result.textScores = bytesOf(textScores);
  if (hops !== undefined) result.hops = bytesOf(hops);
  if (groups !== undefined) {
    result.groups = bytesOf(groups.of);
    result.groupValues = groups.values;
  }
  if (fields !== undefined) result.fields = fields;
  return result;
}

/** Returns the little-endian bytes of numbers, for the wire. */
export const bytesOf = (numbers: Float64Array | Int32Array): Uint8Array =>
  new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);

/** Returns the components of a vector. `bytes`: little-endian, at any alignment. */
export const componentsOf = (bytes: Uint8Array): Int32Array =>
  bytes.byteOffset % 4 === 0
    ? new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    : new Int32Array(Uint8Array.from(bytes).buffer);
