import { type Progress, showProgress } from '../scripts/terminal/progress.js';
import type { Row } from './row.js';

/** Takes measurements behind a line that shows how far along they are. */
export async function measured(
  name: string,
  total: number,
  measure: (progress: Progress) => Promise<Row[]>,
): Promise<Row[]> {
  const progress = showProgress(name, total, 'measurements');
  try {
    const rows = await measure(progress);
    progress.finish();
    return rows;
  } catch (error) {
    progress.abandon();
    throw error;
  }
}
