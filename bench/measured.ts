import { type Progress, withProgress } from '../scripts/terminal/progress.js';
import type { Row } from './row.js';

/** Takes measurements behind a line that shows how far along they are. */
export const measured = (
  name: string,
  total: number,
  measure: (progress: Progress) => Promise<Row[]>,
): Promise<Row[]> => withProgress(name, total, 'measurements', measure);
