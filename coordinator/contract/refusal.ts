/** From what typia found wrong to what a caller reads: the path, what is expected there, and what stood there. */
import { VouchError } from '../../shared/errors.js';
import { inWords } from './words.js';

/** A longer string is not repeated to its sender. */
const SHOWN_CHARS = 40;

export interface Mismatch {
  readonly path?: string | undefined;
  readonly expected: string;
  readonly value: unknown;
}

export const invalid = (message: string): VouchError => new VouchError('validation_error', message);

/** typia's error factory for bodies. Only the first mismatch is reported: a body may hold millions. */
export const refuseBody = ({ path, expected, value }: Mismatch): VouchError =>
  invalid(describe((path ?? '$input').replace('$input', '$'), expected, value));

/** The same where `property` names an index, whose refusal has a code of its own. */
export const refuseIndexAt =
  (property: string) =>
  (mismatch: Mismatch): VouchError => {
    const { message } = refuseBody(mismatch);
    return new VouchError(mismatch.path === `$input.${property}` ? 'invalid_index' : 'validation_error', message);
  };

/** The same for query parameters, named by themselves. */
export const refuseQuery = ({ path, expected, value }: Mismatch): VouchError =>
  invalid(describe(`query parameter ${(path ?? '').replace(/^\$input\.?/, '')}`, expected, value));

function describe(path: string, expected: string, value: unknown): string {
  const wanted = path === '$' ? 'a JSON object' : inWords(expected);
  if (value === undefined) return `${path} is missing: expected ${wanted}`;
  return `${path}: expected ${wanted}, got ${named(value)}`;
}

function named(value: unknown): string {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string' && value.length <= SHOWN_CHARS) return JSON.stringify(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
