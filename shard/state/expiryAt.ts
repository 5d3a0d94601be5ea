import { VouchError } from '../../shared/errors/errors.js';

/**
 * The instant from which on a new record is in no answer; undefined: it does not expire. A life ends with a whole second,
 * so that the records of a second are removed together. Throws `validation_error` if `givenMs` is not after `nowMs`. `what` begins
 * the message, such as `item 3: `.
 */
export function expiryAt(
  nowMs: number,
  givenMs: number | null | undefined,
  ttlMs: number | undefined,
  what = '',
): number | undefined {
  if (givenMs == null) return ttlMs === undefined ? undefined : Math.ceil((nowMs + ttlMs) / 1000) * 1000;
  const [given, now] = [givenMs / 1000, Math.floor(nowMs / 1000)];
  if (givenMs > nowMs) return givenMs;
  throw new VouchError(
    'validation_error',
    `${what}expires_at is ${given}, and it is ${now} already; give a later second`,
  );
}
