/** How long to wait before a process that ended is started again. */

export const FIRST_MS = 100;
const LONGEST_MS = 10_000;
/** A process that lived this long was well: the next wait is the first one again. */
const WELL_AFTER_MS = 10_000;

/**
 * Doubles from wait to wait, beginning with `firstMs`. `previousMs`: the wait before the run that now ended after `ranMs`,
 * if there was one.
 */
export function nextWaitMs(previousMs: number | undefined, ranMs: number, firstMs = FIRST_MS): number {
  if (previousMs === undefined || ranMs >= WELL_AFTER_MS) return firstMs;
  return Math.min(previousMs * 2, Math.max(LONGEST_MS, firstMs));
}
