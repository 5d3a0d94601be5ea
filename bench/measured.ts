import { type Progress, withProgress } from '../scripts/terminal/progress.js';
import type { Row } from './row.js';

/** Takes measurements while a line shows their progress. */
export const measured = (
  name: string,
  total: number,
  measure: (progress: Progress) => Promise<Row[]>,
): Promise<Row[]> => withProgress(name, total, 'measurements', measure);
