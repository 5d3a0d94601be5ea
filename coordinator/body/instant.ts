/** Parses instants in the extended form of ISO 8601: a date and a time with a zone. */
import { invalid } from '../contract/refusal.js';

const DATE = /^\d{4}-\d\d-\d\d$/;
/** Hours and minutes, optionally with seconds and a fraction. */
const TIME = /^((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d(?:\.\d+)?))?$/;
/** `Z`, or an offset with or without colon and minutes. */
const ZONE = /(?:Z|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)$/;
/** The digits of a fraction after the milliseconds. */
const BEYOND_MS = /(\.\d{3})\d+$/;

/**
 * Unix milliseconds of the instant; letters may be in lower case. Finer digits are cut off, since the times of events are whole
 * milliseconds. Hour 24 and second 60 are refused. Throws `validation_error`, which names `path`.
 */
export function instantMs(text: string, path: string): number {
  const instant = text.toUpperCase();
  const zone = ZONE.exec(instant);
  const date = instant.slice(0, 10);
  const time = zone && TIME.exec(instant.slice(11, zone.index));
  if (!zone || !time || instant[10] !== 'T' || !DATE.test(date))
    throw invalid(`${path}: expected an instant with its zone, such as 2026-01-31T12:00:00Z or 2026-01-31T14:00+02:00`);
  if (!isDay(date)) throw invalid(`${path}: there is no ${date}`);
  const [, hoursAndMinutes, seconds = '00'] = time;
  const [, hoursAhead, minutesAhead = '00'] = zone;
  const offset = hoursAhead === undefined ? 'Z' : `${hoursAhead}:${minutesAhead}`;
  return Date.parse(`${date}T${hoursAndMinutes}:${seconds.replace(BEYOND_MS, '$1')}${offset}`);
}

/** Whether the day exists: `Date` reads the 30th of February as the 1st or 2nd of March. */
const isDay = (date: string): boolean => new Date(`${date}T00:00:00Z`).getUTCDate() === Number(date.slice(8));
