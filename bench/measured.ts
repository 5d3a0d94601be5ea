import { type Progress, withProgress } from '../scripts/terminal/progress.js';
import { systemClock } from '../shared/clock.js';
import type { Row } from './row.js';

/** Takes measurements while a line shows their progress. */
export const measured = (
  name: string,
  total: number,
  measure: (progress: Progress) => Promise<Row[]>,
): Promise<Row[]> => withProgress(name, total, ['measurement', 'measurements'], measure);

/** Returns how long some work takes. */
export async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  await work();
  return (systemClock.monotonicMs() - startedMs) / 1000;
}
