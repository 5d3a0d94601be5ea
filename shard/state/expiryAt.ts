import { VouchError } from '../../shared/errors/errors.js';
import { EXPIRES_AT_MAX } from '../../shared/limits.js';

/**
 * The instant from which on a new record is in no answer; undefined: it does not expire. A life ends with a whole second,
 * so that the records of a second are removed together. Throws `validation_error` if `givenMs` is not after `nowMs`, or after the
 * year 9999. `what` begins the message, such as `item 3: `.
 */
export function expiryAt(
  nowMs: number,
  givenMs: number | null | undefined,
  ttlMs: number | undefined,
  what = '',
): number | undefined {
  if (givenMs == null) return ttlMs === undefined ? undefined : Math.ceil((nowMs + ttlMs) / 1000) * 1000;
  const [given, now] = [givenMs / 1000, Math.floor(nowMs / 1000)];
  if (given > EXPIRES_AT_MAX)
    throw new VouchError(
      'validation_error',
      `${what}expires_at is ${given}, which is after the year 9999; give unix seconds, not milliseconds`,
    );
  if (givenMs > nowMs) return givenMs;
  throw new VouchError(
    'validation_error',
    `${what}expires_at is ${given}, and it is ${now} already; give a later second`,
  );
}
