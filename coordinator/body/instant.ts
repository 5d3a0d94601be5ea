/** Instants as clients write them. */
import { invalid } from '../contract/refusal.js';

/** A letter between date and time: typia's `date-time` takes any white space too. */
const SEPARATOR = 'T';
const BEYOND_MS = /(\.\d{3})\d+/;

/**
 * Unix milliseconds of an instant that typia has found to be of the format `date-time`. What is finer is cut off: events
 * are timed to the millisecond, and one at .123 is not at or before .1229. Throws `validation_error`.
 */
export function instantMs(text: string, path: string): number {
  const instant = text.toUpperCase();
  const date = instant.slice(0, 10);
  if (instant[10] !== SEPARATOR) throw invalid(`${path}: expected a T between date and time`);
  if (!isDay(date)) throw invalid(`${path}: there is no ${date}`);
  return Date.parse(instant.replace(BEYOND_MS, '$1'));
}

/** A `Date` takes the 30th of February for the 1st or the 2nd of March. */
const isDay = (date: string): boolean => new Date(`${date}T00:00:00Z`).getUTCDate() === Number(date.slice(8));
