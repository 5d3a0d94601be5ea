/**
 * Takes the vectors out of the JSON of a body. The rest, which is short, is parsed and validated like any JSON. If it is
 * refused, or the body is unusual, the whole body is parsed instead, so that its errors show the sent values.
 */
import type { Scale } from '../../shared/fixedPoint.js';
import { endOfString } from '../../shared/json/nesting.js';
import { BATCHED_SEARCHES_MAX } from '../../shared/limits.js';
import type { Rows } from './vectors.js';
import { afterBlanks, readVector, readVectors } from './vectorText.js';

/** The place of the vectors in a kind of body. */
export interface VectorField {
  readonly name: 'values' | 'batch' | 'query';
  /** The array of objects that have the field; absent: the body itself has it. */
  readonly within?: 'searches';
}

export interface BodyParts {
  /** The body with places in `vectors` instead of the vectors. */
  readonly json: Buffer;
  readonly vectors: readonly Rows[];
}

const QUOTE = 0x22;
const COLON = 0x3a;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const BACKSLASH = 0x5c;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/** The levels at which the objects with a field are open. */
const BODY_LEVEL = 1;
const INNER_LEVEL = 3;

/** Takes the vectors out of a body. Undefined if it has no vector, too many, or a list that may not be a vector. */
export function takeVectors(
  body: Buffer,
  { name, within }: VectorField,
  scale: Scale = 'plain',
): BodyParts | undefined {
  // The closing brace ends every reading: no position goes beyond it.
  if (body[lastOf(body)] !== OBJECT_END) return undefined;
  const level = within === undefined ? BODY_LEVEL : INNER_LEVEL;
  const read = name === 'batch' ? readVectors : readVector;
  const most = within === undefined ? 1 : BATCHED_SEARCHES_MAX;
  const pieces: Buffer[] = [];
  const vectors: Rows[] = [];
  let depth = 0;
  let isWithin = within === undefined;
  let copied = 0;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]!;
    if (byte === OBJECT || byte === ARRAY) depth += 1;
    else if (byte === OBJECT_END || byte === ARRAY_END) depth -= 1;
    if (byte !== QUOTE) continue;
    const key = i + 1;
    i = endOfString(body, i);
    if ((depth !== BODY_LEVEL && depth !== level) || i >= body.length) continue;
    const colon = afterBlanks(body, i + 1);
    if (body[colon] !== COLON) continue;
    // A name with an escape has several spellings.
    if (hasEscape(body, key, i)) return undefined;
    if (depth === BODY_LEVEL && within !== undefined) isWithin = isName(body, key, i, within);
    if (depth !== level || !isWithin || !isName(body, key, i, name)) continue;
    const at = afterBlanks(body, colon + 1);
    if (body[at] !== ARRAY) continue;
    // A bound, since each reading begins with a copy of 64 KiB.
    if (vectors.length === most) return undefined;
    const found = read(body, at, scale);
    if (found === undefined) return undefined;
    const place = name === 'batch' ? `[[${vectors.length}]]` : `[${vectors.length}]`;
    pieces.push(body.subarray(copied, at), Buffer.from(place));
    vectors.push(found.rows);
    copied = found.end;
    i = copied - 1;
  }
  if (vectors.length === 0) return undefined;
  pieces.push(body.subarray(copied));
  return { json: Buffer.concat(pieces), vectors };
}

/** The last byte that is not white space. */
function lastOf(body: Buffer): number {
  let i = body.length - 1;
  while (i > 0 && body[i]! <= 0x20) i -= 1;
  return i;
}

function hasEscape(body: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (body[i] === BACKSLASH) return true;
  return false;
}

function isName(body: Buffer, from: number, to: number, name: string): boolean {
  if (to - from !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (body[from + i] !== name.charCodeAt(i)) return false;
  return true;
}
