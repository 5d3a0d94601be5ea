/** Error messages for mismatches that typia finds: the path, the expected type, and the given value. */

import { counted } from '../../shared/errors/counted.js';
import { refusal, VouchError } from '../../shared/errors/errors.js';
import { inWords } from './validationMessages.js';

/** Longest string that a message repeats. */
const SHOWN_CHARS = 40;
/** Longest part of a key that a message repeats. */
const SHOWN_KEY_CHARS = 64;

export interface Mismatch {
  readonly path?: string | undefined;
  readonly expected: string;
  readonly value: unknown;
}

export const invalid = (message: string): VouchError => new VouchError('validation_error', message);

/** typia writes a key that is a word of TypeScript, such as `with`, in brackets. */
const dotted = (path: string): string => path.replaceAll(/\["([a-z]+)"\]/g, '.$1');

/** typia's error factory for bodies. Only the first mismatch is reported: a body may hold millions. */
export const refuseBody = ({ path, expected, value }: Mismatch): VouchError =>
  mismatched(dotted(path ?? '$input').replace('$input', '$'), expected, value);

/** typia's error factory for a body whose `property` names an index: its refusal has a code of its own. */
export const refuseIndexAt =
  (property: string) =>
  (mismatch: Mismatch): VouchError => {
    const { message } = refuseBody(mismatch);
    return new VouchError(mismatch.path === `$input.${property}` ? 'invalid_index' : 'validation_error', message);
  };

/** typia's error factory for query parameters. */
export const refuseQuery = ({ path, expected, value }: Mismatch): VouchError =>
  mismatched(`query parameter ${dotted(path ?? '').replace(/^\$input\.?/, '')}`, expected, value);

/** The path of a member. */
export const below = (path: string, key: string): string => `${path}.${shortened(key)}`;

/** The form of a name in messages. */
export const shortened = (name: string): string =>
  name.length <= SHOWN_KEY_CHARS ? name : `${name.slice(0, SHOWN_KEY_CHARS)}…`;

/** Makes the error for an array in place of an object. */
export const notAnObject = (path: string, value: readonly unknown[]): VouchError =>
  mismatched(path, 'JsonObject', value);

function mismatched(path: string, type: string, value: unknown): VouchError {
  const expected = path === '$' ? 'a JSON object' : inWords(type);
  if (value === undefined) return refusal('validation_error', 'absent', { path, expected });
  const isCounted = typeof value === 'string' && expected.endsWith(' bytes');
  const got = isCounted ? counted(Buffer.byteLength(value), 'byte') : named(value);
  return refusal('validation_error', 'mismatch', { path, expected, value: got });
}

function named(value: unknown): string {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string' && value.length <= SHOWN_CHARS) return JSON.stringify(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'string') return `a string of ${counted(value.length, 'character')}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
