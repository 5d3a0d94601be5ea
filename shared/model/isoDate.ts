/**
 * Dates and instants of ISO 8601 in metadata. A date is its first instant in UTC, and a time without a zone is in UTC.
 *
 *   YYYY-MM-DD, or YYYY-MM-DDThh:mm with optional seconds, up to nine digits of a fraction, and Z, ±hh, ±hhmm or ±hh:mm.
 */

const ISO =
  /^(\d{4}-\d\d-\d\d)(?:T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?(Z|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?)?$/i;
const LONGEST = '2026-01-31T00:00:00.123456789+00:00'.length;
const SHORTEST = '2026-01-31'.length;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Days between an instant and any date that a string of that instant may begin with, rounded up. */
const DAYS_APART = 2;
/** A string above all dates: it begins with the character after the digits. */
const ABOVE_DATES = ':';

/**
 * Returns the instant of a date or time, in a form whose order as a string is the order in time. Undefined for other
 * strings, for days that do not exist, and beyond the years 0 to 9999 in UTC.
 */
export function isoInstant(text: string): string | undefined {
  if (text.length < SHORTEST || text.length > LONGEST || text.charCodeAt(4) !== 0x2d) return undefined;
  const parts = ISO.exec(text);
  if (parts === null) return undefined;
  const [, date, hour = '00', minute = '00', second = '00', fraction = '', , sign, hoursAhead, minutesAhead = '00'] =
    parts;
  const dayMs = Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(dayMs) || new Date(dayMs).getUTCDate() !== Number(date!.slice(8))) return undefined;
  if (sign === undefined) return `${date}T${hour}:${minute}:${second}.${trimmed(fraction)}`;
  const aheadMs = (Number(hoursAhead) * 60 + Number(minutesAhead)) * MINUTE_MS * (sign === '+' ? 1 : -1);
  const shifted = isoDay(dayMs + (Number(hour) * 60 + Number(minute)) * MINUTE_MS - aheadMs, 16);
  return shifted && `${shifted}:${second}.${trimmed(fraction)}`;
}

/** Two instants are equal if they differ only in zeros at the end of the fraction. */
const trimmed = (fraction: string): string => fraction.replace(/0+$/, '');

/** The first `length` characters of the instant; undefined outside the years 0 to 9999. */
function isoDay(unixMs: number, length = SHORTEST): string | undefined {
  const iso = new Date(unixMs).toISOString();
  return iso.charCodeAt(0) === 0x2d || iso.charCodeAt(0) === 0x2b ? undefined : iso.slice(0, length);
}

/**
 * Returns bounds of strings. Any string below `from` is before the instant, if it is a date, and below any string of the
 * instant. Any string from `to` on is after both.
 */
export function isoBounds(instant: string): { readonly from: string; readonly to: string } {
  const dayMs = Date.parse(`${instant.slice(0, SHORTEST)}T00:00:00Z`);
  return {
    from: isoDay(dayMs - DAYS_APART * DAY_MS) ?? '',
    to: isoDay(dayMs + DAYS_APART * DAY_MS) ?? ABOVE_DATES,
  };
}
