/** How long to wait before a process that ended is started again. */

const FIRST_MS = 100;
const LONGEST_MS = 10_000;
/** A process that lived this long was well: the next wait is the first one again. */
const WELL_AFTER_MS = 10_000;

/** Doubles from wait to wait. `previousMs`: the wait before the run that now ended after `ranMs`, if there was one. */
export function nextWaitMs(previousMs: number | undefined, ranMs: number): number {
  if (previousMs === undefined || ranMs >= WELL_AFTER_MS) return FIRST_MS;
  return Math.min(previousMs * 2, LONGEST_MS);
}
