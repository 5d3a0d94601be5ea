/** Path parameters: percent-decoding, and the ids among them. */
import { invalid } from '../contract/refusal.js';

const WHOLE = /^\d{1,16}$/;

/** Throws `validation_error` where the encoding is broken. */
export function decodeParameter(encoded: string): string {
  if (!encoded.includes('%')) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw invalid('the path holds a broken percent-encoding');
  }
}

/** A record, node or edge id. Throws `validation_error`. */
export function idParameter(parameter: string | undefined): number {
  const id = Number(parameter);
  if (parameter === undefined || !WHOLE.test(parameter) || !Number.isSafeInteger(id))
    throw invalid('the id in the path is not a whole number from 0 to 2^53 - 1');
  return id;
}
